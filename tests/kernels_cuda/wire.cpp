// What GPUs make of f32 with a 16-bit type in some sources and destinations has the bits of what processors make of it.
#include "cases.hpp"
#include "kernels/cuda/wire_span.hpp"
#include "support/catch.hpp"

using namespace cuda_kernel_test;

namespace {

/// A call, but for its data.
struct NarrowCase {
  std::size_t sources = 2, destinations = 1, count = 100;
  std::uint64_t wire_sources = 0, wire_destinations = 0, scaled_sources = 0;
  std::uint32_t divisor = 0;
  std::size_t offset = 0;  ///< elements between a multiple of 16 bytes and each buffer
  bool apart = false;      ///< buffer b lies b elements further
  bool in_place = false;   ///< the first destination is the first source, where both are of f32
  unsigned threads = 1;
};

std::string to_string(const NarrowCase& c) {
  return std::to_string(c.sources) + " sources (wire " + std::to_string(c.wire_sources) + ", scaled " + std::to_string(c.scaled_sources) + ") into " +
         std::to_string(c.destinations) + " (wire " + std::to_string(c.wire_destinations) + "), " + std::to_string(c.count) + " elements at " +
         std::to_string(c.offset) + (c.apart ? " and further" : "") + (c.in_place ? ", in place" : "") + ", divided by " + std::to_string(c.divisor) + ", " +
         std::to_string(c.threads) + " threads";
}

/// The buffers of one.
struct Narrow {
  std::vector<Guarded> buffers;  ///< sources, then destinations
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  rondo::WireCall call;

  explicit Narrow(const NarrowCase& c) {
    for (std::size_t b = 0; b < c.sources + c.destinations; ++b) {
      const bool wire = ((b < c.sources ? c.wire_sources >> b : c.wire_destinations >> (b - c.sources)) & 1) != 0;
      const std::size_t element = wire ? 2 : 4;
      buffers.emplace_back(c.count * element, (c.offset + (c.apart ? b : 0)) * element);
    }
    for (std::size_t s = 0; s < c.sources; ++s) sources.push_back(buffers[s].data());
    for (std::size_t d = 0; d < c.destinations; ++d) destinations.push_back(buffers[c.sources + d].data());
    if (c.in_place && ((c.wire_sources | c.wire_destinations) & 1) == 0) destinations[0] = buffers[0].data();
    call.sources = sources.data(), call.source_count = static_cast<std::uint32_t>(c.sources);
    call.destinations = destinations.data(), call.destination_count = static_cast<std::uint32_t>(c.destinations);
    call.count = c.count, call.scale = 0.3, call.divisor = c.divisor;
    call.wire_sources = c.wire_sources, call.wire_destinations = c.wire_destinations, call.scaled_sources = c.scaled_sources;
  }
  Narrow(const Narrow&) = delete;
  Narrow& operator=(const Narrow&) = delete;
};

template <class T>
void put(Guarded& buffer, std::size_t i, float value) {
  const T element = rondo::cuda::narrow<T>(value);
  std::memcpy(buffer.data() + i * sizeof element, &element, sizeof element);
}

/// Empty when both have the same bits, but for a NaN's.
template <class T>
std::string unlike(const Guarded& a, const Guarded& b) {
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
    T x, y;
    std::memcpy(&x, a.data() + i * sizeof x, sizeof x);
    std::memcpy(&y, b.data() + i * sizeof y, sizeof y);
    if (std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(rondo::cuda::widen(x)) && std::isnan(rondo::cuda::widen(y)))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(rondo::cuda::widen(x)) + ", not " + std::to_string(rondo::cuda::widen(y));
  }
  return a.guards_untouched() ? "" : "a guard was touched";
}

template <class W>
void check_wire(const NarrowCase& c, DataType wire, std::mt19937_64& random) {
  Narrow mine(c), other(c);
  std::normal_distribution<float> normal(0.5f, 2.0f);
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f, 3.4e38f, 65519.0f, 65520.0f, 6e-8f};
  for (std::size_t s = 0; s < c.sources; ++s)
    for (std::size_t i = 0; i < c.count; ++i) {
      const float value = random() % 16 == 0 ? special[random() % std::size(special)] : normal(random);
      for (Narrow* side : {&mine, &other})
        if ((c.wire_sources >> s & 1) != 0) put<W>(side->buffers[s], i, value);
        else put<float>(side->buffers[s], i, value);
    }
  rondo::cpu_kernels().wire[static_cast<std::size_t>(wire)](other.call);
  for (unsigned thread = 0; thread < c.threads; ++thread) rondo::cuda::combine_wire_span<W>(mine.call, {thread, c.threads});
  for (std::size_t b = 0; b < mine.buffers.size(); ++b) {
    const bool narrow = ((b < c.sources ? c.wire_sources >> b : c.wire_destinations >> (b - c.sources)) & 1) != 0;
    const std::string wrong = narrow ? unlike<W>(mine.buffers[b], other.buffers[b]) : unlike<float>(mine.buffers[b], other.buffers[b]);
    if (wrong.empty()) continue;
    INFO(to_string(c) << ", buffer " << b);
    CHECK(wrong == "");
  }
}

}  // namespace

TEST_CASE("f32 with a wire type has the bits of the processor's kernels, whatever is narrow, scaled or divided, and wherever it lies") {
  std::mt19937_64 random(5);
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 64})
    for (const std::size_t count : {0, 1, 3, 7, 8, 9, 31, 64, 100, 257})
      for (int i = 0; i < 6; ++i) {
        NarrowCase c;
        c.sources = n, c.count = count, c.destinations = 1 + random() % 3;
        c.wire_sources = random() % 3 == 0 ? 0 : random();
        c.scaled_sources = random() % 2 == 0 ? 0 : ~c.wire_sources & random();
        c.wire_destinations = random();
        c.divisor = random() % 2 == 0 ? 0 : 1 + static_cast<std::uint32_t>(random() % 9);
        c.offset = random() % 9;
        c.apart = random() % 3 == 0;
        c.in_place = random() % 2 == 0;
        c.threads = 1 + static_cast<unsigned>(random() % 7);
        check_wire<rondo::cuda::F16>(c, DataType::f16, random);
        check_wire<rondo::cuda::Bf16>(c, DataType::bf16, random);
      }
}

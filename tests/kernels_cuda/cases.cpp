#include "cases.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

namespace cuda_kernel_test {
namespace {

/// A number that people add up, or a special one; an integer uses all its bits.
template <class T>
void fill(std::uint8_t* to, std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0.5, 2.0);
  for (std::size_t i = 0; i < count; ++i) {
    T element;
    const std::uint64_t bits = random();
    if constexpr (rondo::cuda::is_float<T>) {
      using A = rondo::cuda::Accumulator<T>;
      const A special[] = {0, -A{0}, std::numeric_limits<A>::infinity(), -std::numeric_limits<A>::infinity(), std::numeric_limits<A>::quiet_NaN(),
                           std::numeric_limits<A>::denorm_min(), std::numeric_limits<A>::max(), static_cast<A>(6e-8), 65504, 1};
      if (bits % 16 == 0) element = rondo::cuda::narrow<T>(special[bits / 16 % std::size(special)]);
      else element = rondo::cuda::narrow<T>(static_cast<A>(normal(random)));
    } else {
      element = static_cast<T>(bits);
    }
    std::memcpy(to + i * sizeof(T), &element, sizeof(T));
  }
}

/// The same bits, or both NaN.
template <class T>
bool agree(const std::uint8_t* a, const std::uint8_t* b) {
  if (std::memcmp(a, b, sizeof(T)) == 0) return true;
  if constexpr (!rondo::cuda::is_float<T>) return false;
  T x, y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  const auto is_nan = [](auto value) { return value != value; };
  return is_nan(rondo::cuda::widen(x)) && is_nan(rondo::cuda::widen(y));
}

/// Buffers of a call, and the call.
struct Prepared {
  std::vector<Guarded> inputs, outputs;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  KernelCall call;

  explicit Prepared(const Case& c) {
    const std::size_t element = rondo::size_of(c.type);
    const auto offset = [&](std::size_t buffer) { return (c.offset + (c.apart ? buffer : 0)) * element; };
    for (std::size_t s = 0; s < c.sources; ++s) inputs.emplace_back(c.count * element, offset(s));
    for (std::size_t d = 0; d < c.destinations; ++d) outputs.emplace_back(c.count * element, offset(c.sources + d));
    for (Guarded& input : inputs) sources.push_back(input.data());
    for (std::size_t d = 0; d < c.destinations; ++d)
      destinations.push_back(d < c.in_place && d < c.sources ? inputs[c.sources - 1 - d].data() : outputs[d].data());
    call.source_count = static_cast<std::uint32_t>(c.sources);
    call.destination_count = static_cast<std::uint32_t>(c.destinations);
    call.count = c.count;
    call.scaled_sources = c.scaled_sources;
    call.scale = c.scale;
    call.integer_scale = c.integer_scale;
    call.divisor = c.divisor;
    call.sources = sources.data();
    call.destinations = destinations.data();
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  bool guards_untouched() const {
    const auto untouched = [](const Guarded& buffer) { return buffer.guards_untouched(); };
    return std::all_of(inputs.begin(), inputs.end(), untouched) && std::all_of(outputs.begin(), outputs.end(), untouched);
  }
};

template <class T>
std::string difference_of(const Case& c, std::mt19937_64& random) {
  Prepared mine(c), other(c);
  for (std::size_t s = 0; s < c.sources; ++s) {
    fill<T>(mine.inputs[s].data(), c.count, random);
    std::memcpy(other.inputs[s].data(), mine.inputs[s].data(), c.count * sizeof(T));
  }
  rondo::cpu_kernels().get(c.op, c.type)(other.call);
  for (unsigned thread = 0; thread < c.threads; ++thread) rondo::cuda::combine_span(mine.call, c.type, c.op, {thread, c.threads});
  for (std::size_t b = 0; b < c.sources + c.destinations; ++b) {
    const Guarded& a = b < c.sources ? mine.inputs[b] : mine.outputs[b - c.sources];
    const Guarded& right = b < c.sources ? other.inputs[b] : other.outputs[b - c.sources];
    for (std::size_t i = 0; i < c.count; ++i)
      if (!agree<T>(a.data() + i * sizeof(T), right.data() + i * sizeof(T)))
        return "element " + std::to_string(i) + (b < c.sources ? " of source " + std::to_string(b) : " of destination " + std::to_string(b - c.sources));
  }
  return mine.guards_untouched() ? "" : "a write outside of the buffers";
}

}  // namespace

std::string to_string(const Case& c) {
  std::ostringstream text;
  text << rondo::to_string(c.type) << " " << rondo::to_string(c.op) << " of " << c.sources << " into " << c.destinations << " (" << c.in_place
       << " in place), " << c.count << " elements at " << c.offset << (c.apart ? " and further, " : ", ") << c.threads << " threads, scaled "
       << c.scaled_sources << " by " << c.scale << " or " << c.integer_scale << ", divided by " << c.divisor;
  return text.str();
}

std::string difference(const Case& c, std::mt19937_64& random) {
  std::string result;
  rondo::cuda::with_type(c.type, [&](auto element) { result = difference_of<decltype(element)>(c, random); });
  return result;
}

}  // namespace cuda_kernel_test

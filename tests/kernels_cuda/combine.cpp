// What GPUs combine has the bits of what processors combine: every operation on every type.
#include "cases.hpp"
#include "support/catch.hpp"

using namespace cuda_kernel_test;

namespace {

template <class Body>
void for_each_operation(const Body& body) {
  for (std::size_t type = 0; type < rondo::data_type_count; ++type)
    for (std::size_t op = 0; op < rondo::reduce_op_count; ++op)
      if (rondo::is_defined(static_cast<ReduceOp>(op), static_cast<DataType>(type))) body(static_cast<DataType>(type), static_cast<ReduceOp>(op));
}

void check(const Case& c, std::mt19937_64& random) {
  const std::string wrong = difference(c, random);
  if (wrong.empty()) return;
  INFO(to_string(c));
  CHECK(wrong == "");
}

constexpr std::size_t source_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 127};
constexpr unsigned thread_counts[] = {1, 3, 7};

}  // namespace

TEST_CASE("a span that a GPU's threads combine has the bits of the processor's kernels, for every operation, type, number of sources and length") {
  std::mt19937_64 random(1);
  for_each_operation([&](DataType type, ReduceOp op) {
    for (const std::size_t n : source_counts)
      for (const std::size_t count : {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 64, 257, 1000}) {
        Case c;
        c.type = type, c.op = op, c.sources = n, c.count = count;
        c.threads = thread_counts[random() % 3];
        check(c, random);
      }
  });
}

TEST_CASE("buffers lie anywhere, and destinations may be sources") {
  std::mt19937_64 random(2);
  for_each_operation([&](DataType type, ReduceOp op) {
    for (const std::size_t n : {1, 2, 3, 4, 8, 9})
      for (const std::size_t offset : {0, 1, 2, 3, 4, 7, 8, 13})
        for (const bool apart : {false, true}) {
          Case c;
          c.type = type, c.op = op, c.sources = n, c.offset = offset, c.apart = apart;
          c.destinations = 1 + random() % 4;
          c.in_place = random() % (c.destinations + 1);
          c.count = random() % 300;
          c.threads = thread_counts[random() % 3];
          check(c, random);
        }
  });
}

TEST_CASE("sources that lie alike by words but not by packs are combined right") {
  std::mt19937_64 random(3);
  for (const DataType type : {DataType::u8, DataType::i16, DataType::f16, DataType::bf16})
    for (const std::size_t n : {1, 2, 3, 5, 8}) {
      const std::size_t element = rondo::size_of(type), count = 103;
      std::vector<Guarded> buffers;
      for (std::size_t b = 0; b <= n; ++b) buffers.emplace_back(count * element, (4 * b + element) % 16);
      std::vector<const void*> sources;
      for (std::size_t s = 0; s < n; ++s) {
        for (std::size_t i = 0; i < count * element; ++i) buffers[s].data()[i] = static_cast<std::uint8_t>(random() % 60);
        sources.push_back(buffers[s].data());
      }
      std::vector<std::uint8_t> right(count * element);
      void* expected = right.data();
      void* destination = buffers[n].data();
      KernelCall call;
      call.sources = sources.data(), call.source_count = static_cast<std::uint32_t>(n);
      call.destinations = &expected, call.destination_count = 1, call.count = count;
      rondo::cpu_kernels().get(ReduceOp::sum, type)(call);
      call.destinations = &destination;
      for (unsigned thread = 0; thread < 3; ++thread) rondo::cuda::combine_span(call, type, ReduceOp::sum, {thread, 3});
      INFO(rondo::to_string(type) << " of " << n);
      CHECK(std::memcmp(destination, expected, right.size()) == 0);
      CHECK(buffers[n].guards_untouched());
    }
}

TEST_CASE("scaled sources are rounded before they are added, and averages divide the sum") {
  std::mt19937_64 random(4);
  for (std::size_t type = 0; type < rondo::data_type_count; ++type)
    for (const std::size_t n : source_counts)
      for (const std::uint32_t divisor : {0u, 1u, 2u, 3u, 7u, 8u, 1000u, 0x80000001u})
        for (const double scale : {1.0, 0.3, -1.5, 1e-6}) {
          Case c;
          c.type = static_cast<DataType>(type), c.op = divisor != 0 ? ReduceOp::avg : ReduceOp::premul_sum, c.sources = n;
          c.scaled_sources = scale != 1 ? random() : 0;
          c.scale = scale, c.integer_scale = static_cast<std::int64_t>(random()), c.divisor = divisor;
          c.count = random() % 200, c.offset = random() % 4, c.apart = random() % 4 == 0;
          c.threads = thread_counts[random() % 3];
          check(c, random);
        }
}

TEST_CASE("copies are whole wherever the buffers lie, and touch nothing else") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 4000; ++round) {
    const std::size_t bytes = random() % 700, same = random() % 16;
    const std::size_t unit = std::size_t{1} << random() % 5;  // what the distances from 16 have in common
    Guarded source(bytes, same);
    for (std::size_t i = 0; i < bytes; ++i) source.data()[i] = static_cast<std::uint8_t>(random());
    const std::vector<std::uint8_t> right(source.data(), source.data() + bytes);
    std::vector<Guarded> outputs;
    std::vector<void*> destinations;
    for (std::size_t d = 0; d < 1 + random() % 3; ++d) outputs.emplace_back(bytes, (same + random() % 16 * unit) % 16);
    for (Guarded& output : outputs) destinations.push_back(output.data());
    if (random() % 4 == 0) destinations.push_back(source.data());
    const unsigned threads = thread_counts[random() % 3];
    for (unsigned thread = 0; thread < threads; ++thread)
      rondo::cuda::copy_span(destinations.data(), static_cast<std::uint32_t>(destinations.size()), source.data(), bytes, {thread, threads});
    INFO("round " << round << ": " << bytes << " bytes at " << same << ", " << unit << ", " << threads << " threads");
    for (void* destination : destinations) CHECK((bytes == 0 || std::memcmp(destination, right.data(), bytes) == 0));
    for (const Guarded& output : outputs) CHECK(output.guards_untouched());
    CHECK(source.guards_untouched());
  }
}

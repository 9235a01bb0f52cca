// How close the kernels come to hand-written loops and to memcpy: each pair is timed in alternating blocks in one run,
// since this kind of machine changes its speed between runs. Prints the median time of a call and the median of the
// paired ratios.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hand_loops.hpp"
#include "rondo/kernels.hpp"
#include "support/median.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 41;
constexpr double block_ns = 300'000;

struct AlignedFree {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Buffer = std::unique_ptr<std::byte, AlignedFree>;

/// Page-aligned and then staggered, as allocations of different sizes would be, so that no two streams share cache
/// sets.
Buffer make_buffer(std::uint64_t bytes) {
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 8191) / 4096 * 4096)));
  std::memset(buffer.get(), 0, bytes);
  return buffer;
}

double time_block(const std::function<void()>& body, long repeats) {
  const auto begin = Clock::now();
  for (long i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / static_cast<double>(repeats);
}

/// Times `ours` against `peer` in alternating blocks and prints one row.
void compare(const std::string& what, const char* against, std::uint64_t bytes, const std::function<void()>& ours,
             const std::function<void()>& peer) {
  long repeats = 1;
  while (time_block(ours, repeats) * static_cast<double>(repeats) < block_ns) repeats *= 2;
  std::vector<double> our_ns, peer_ns, ratios;
  for (int round = 0; round < rounds; ++round) {
    our_ns.push_back(time_block(ours, repeats));
    peer_ns.push_back(time_block(peer, repeats));
    ratios.push_back(our_ns.back() / peer_ns.back());
  }
  std::printf("%-34s %10llu B %12.2f ns   %-14s %12.2f ns   ratio %.3f\n", what.c_str(),
              static_cast<unsigned long long>(bytes), bench_support::median(our_ns), against, bench_support::median(peer_ns), bench_support::median(ratios));
}

/// A call with its buffers.
struct Prepared {
  Prepared(DataType type, std::uint64_t bytes, std::size_t n, std::size_t m, bool streamed) {
    for (std::size_t i = 0; i < n + m; ++i) buffers.push_back(make_buffer(bytes + 4096));
    for (std::size_t i = 0; i < n; ++i) sources.push_back(buffers[i].get() + 128 * i);
    for (std::size_t i = 0; i < m; ++i) destinations.push_back(buffers[n + i].get() + 128 * (n + i));
    call.sources = sources.data();
    call.destinations = destinations.data();
    call.source_count = static_cast<std::uint32_t>(n);
    call.destination_count = static_cast<std::uint32_t>(m);
    call.count = bytes / size_of(type);
    call.streamed = streamed ? ~std::uint64_t{0} : 0;
    kernel = cpu_kernels().get(ReduceOp::sum, type);
  }
  void run() const { kernel(call); }

  std::vector<Buffer> buffers;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  KernelCall call;
  Kernel kernel = nullptr;
};

std::string label(const char* type, std::size_t n, std::size_t m) {
  return std::string(type) + " sum " + std::to_string(n) + " -> " + std::to_string(m);
}

/// Tiny calls, against as many additions without a kernel.
void tiny() {
  for (const std::size_t n : {2, 4, 8})
    for (const std::uint64_t count : {1, 2, 3, 4, 8, 16}) {
      const Prepared p(DataType::f32, count * 4, n, 1, false);
      compare(
          label("f32", n, 1), "plain loop", count * 4, [&] { p.run(); }, [&] { bench::add_plain(p.call); });
    }
}

void large(DataType type, const char* name, std::size_t n, std::size_t m, std::uint64_t bytes) {
  const Prepared p(type, bytes, n, m, false);
  const auto hand = bench::hand_loop();
  const Prepared f(DataType::f32, bytes, n, m, false);
  if (type == DataType::f32 && n == 2 && m == 1 && hand.add != nullptr)
    compare(
        label(name, n, m), hand.name, bytes, [&] { p.run(); }, [&] { hand.add(p.call); });
  else if (type != DataType::f32)
    compare(
        label(name, n, m), "f32 kernel", bytes, [&] { p.run(); }, [&] { f.run(); });
  if (type == DataType::f32)
    compare(
        label(name, n, m), "memcpy", bytes, [&] { p.run(); },
        [&] { std::memcpy(p.destinations[0], p.sources[0], bytes); });
}

/// Stores past the caches against plain ones.
void streamed(std::uint64_t bytes) {
  const Prepared with(DataType::f32, bytes, 2, 1, true), without(DataType::f32, bytes, 2, 1, false);
  compare(
      "f32 sum 2 -> 1 streamed", "plain stores", bytes, [&] { with.run(); }, [&] { without.run(); });
  compare(
      "copy streamed", "memcpy", bytes, [&] { cpu_copy(with.destinations[0], with.sources[0], bytes, true); },
      [&] { std::memcpy(with.destinations[0], with.sources[0], bytes); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "bench_kernels: unexpected '%s'; accepted: no arguments\n", argv[1]);
    return 2;
  }
  std::printf("kernels for %s\n", cpu_kernel_target());
  tiny();
  for (const std::uint64_t bytes : {4096, 16384, 65536, 262144, 1048576})
    for (const std::size_t m : {1, 2}) large(DataType::f32, "f32", 2, m, bytes);
  for (const std::uint64_t bytes : {4096, 65536, 262144, 1048576}) large(DataType::bf16, "bf16", 2, 1, bytes);
  for (const std::uint64_t bytes : {65536, 262144}) large(DataType::f16, "f16", 2, 1, bytes);
  for (const std::size_t n : {3, 4, 6, 8}) large(DataType::f32, "f32", n, 1, 65536);
  for (const std::size_t n : {4, 8}) large(DataType::bf16, "bf16", n, 1, 65536);
  for (const std::uint64_t bytes : {65536, 1048576, 4194304, 16777216, 67108864}) streamed(bytes);
}

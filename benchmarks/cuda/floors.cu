// What no call can be faster than: a kernel that does nothing, and two kernels that each leave a word for the other and wait for it.
#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

#include "gpu.hpp"
#include "sections.hpp"

namespace bench_cuda {
namespace {

constexpr int kernels_of_graph = 20;
constexpr std::uint32_t rounds = 9, repeats = 5;
constexpr std::uint64_t patience_ns = 2'000'000'000;  ///< of a kernel, should the other not run beside it

template <int bytes>
struct Arguments {
  std::uint64_t words[bytes / 8];
};

template <int bytes>
__global__ void do_nothing(const __grid_constant__ Arguments<bytes> arguments) {
  if (arguments.words[0] != 0) __trap();
}

/// A rank's own words. What the other one reads lies in a line of its own.
struct alignas(256) Words {
  std::uint64_t call, input, output;
  alignas(128) ulonglong2 cell;  ///< a payload with its call
};

/// The least that an inlined call of two ranks does: it finds out which call it is, leaves eight bytes, takes the other's and stores their sum.
__global__ void exchange(Words* mine, Words* theirs) {
  const std::uint64_t call = mine->call + 1, own = mine->input;
  asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.b128 [%0], both; }" ::"l"(&mine->cell), "l"(own), "l"(call) : "memory");
  std::uint64_t begin, now, payload, flag;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("{ .reg .b128 both; ld.relaxed.gpu.b128 both, [%2]; mov.b128 {%0, %1}, both; }" : "=l"(payload), "=l"(flag) : "l"(&theirs->cell) : "memory");
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (flag != call && now - begin < patience_ns);
  mine->output = own + payload;
  mine->call = call;
}

/// A kernel of a graph of many, in µs.
double in_a_graph(cudaStream_t stream, const std::function<void()>& enqueue, const std::function<void()>& come_together) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  for (int k = 0; k < kernels_of_graph; ++k) enqueue();
  must(cudaStreamEndCapture(stream, &graph), "capturing");
  must(cudaGraphInstantiate(&ready, graph, 0), "making a graph");
  come_together();
  const double us = median_us(rounds, repeats, stream, [&](std::uint64_t) { must(cudaGraphLaunch(ready, stream), "launching a graph"); });
  must(cudaGraphExecDestroy(ready), "ending a graph");
  must(cudaGraphDestroy(graph), "ending a graph");
  return us / kernels_of_graph;
}

template <int bytes>
double nothing_us(cudaStream_t stream, bool graph) {
  const auto enqueue = [&] { do_nothing<bytes><<<1, 128, 0, stream>>>(Arguments<bytes>{}); };
  if (graph) return in_a_graph(stream, enqueue, [] {});
  return median_us(rounds, repeats * kernels_of_graph, stream, [&](std::uint64_t) { enqueue(); });
}

struct Exchanged {
  double stream_us = 0, graph_us = 0;
};

/// By two threads with a stream each, as ranks are. Both run equally many kernels, and so wait for one another in each.
Exchanged exchange_us() {
  const Buffer memory(2 * sizeof(Words));
  must(cudaMemset(memory.data(), 0, 2 * sizeof(Words)), "zeroing");
  auto* const words = reinterpret_cast<Words*>(memory.data());
  exchange<<<1, 1>>>(words, words);  // loaded before two wait for one another
  must(cudaDeviceSynchronize(), "loading a kernel");
  must(cudaMemset(memory.data(), 0, 2 * sizeof(Words)), "zeroing");
  must(cudaDeviceSynchronize(), "zeroing");
  Exchanged found[2];
  std::barrier<> together(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      cudaStream_t stream = nullptr;
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
      const auto enqueue = [&] { exchange<<<1, 1, 0, stream>>>(words + rank, words + 1 - rank); };
      const auto come_together = [&] { together.arrive_and_wait(); };
      come_together();
      found[rank].stream_us = median_us(rounds, repeats * kernels_of_graph, stream, [&](std::uint64_t) { enqueue(); });
      found[rank].graph_us = in_a_graph(stream, enqueue, come_together);
      must(cudaStreamDestroy(stream), "ending a stream");
    });
  threads.clear();
  return {std::max(found[0].stream_us, found[1].stream_us), std::max(found[0].graph_us, found[1].graph_us)};
}

}  // namespace

nlohmann::json measure_floors() {
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  nlohmann::json rows = nlohmann::json::array();
  const auto say = [&](const char* what, double stream_us, double graph_us) {
    std::printf("%-58s %6.2f us on a stream %6.2f us in a graph\n", what, stream_us, graph_us);
    rows.push_back({{"what", what}, {"stream_us", stream_us}, {"graph_us", graph_us}});
  };
  say("a kernel that does nothing, 16 bytes of arguments", nothing_us<16>(stream, false), nothing_us<16>(stream, true));
  say("the same, 2 KiB of arguments", nothing_us<2048>(stream, false), nothing_us<2048>(stream, true));
  const Exchanged exchanged = exchange_us();
  say("two kernels exchange 8 bytes", exchanged.stream_us, exchanged.graph_us);
  must(cudaStreamDestroy(stream), "ending a stream");
  return rows;
}

}  // namespace bench_cuda

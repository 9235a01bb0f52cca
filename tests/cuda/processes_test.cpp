// Ranks that are processes and share a GPU: their kernels never run side by side. Run by themselves, as `test_cuda "[processes]"`: a process that has used
// CUDA can't fork ranks that will.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "cuda/trials.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// What check() says once the stream has come past the call; "" if nothing.
std::string outcome(GpuRank& rank, std::uint64_t count) {
  const GpuBuffer buffer(8u << 20);
  if (auto started = rank.gpu.run({Collective::all_reduce, buffer.data(), buffer.data(), count}, rank.stream); !started) return to_string(started.error());
  (void)cudaStreamSynchronize(rank.stream);
  const auto found = rank.gpu.check();
  return found ? "" : to_string(found.error());
}

bool says(const std::string& text, std::initializer_list<const char*> any) {
  return std::any_of(any.begin(), any.end(), [&](const char* part) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("processes that share a GPU get right results, each behind a kernel that fills it", "[.][processes]") {
  const std::uint32_t ranks = GENERATE(2u, 4u, 8u);
  check_all(run_gpu_processes(ranks, [](GpuRank& rank) -> std::string {
    std::uint64_t seed = 0;
    for (const Collective collective : all_collectives)
      for (const std::uint64_t count : {1u, 37u, 20'000u, 700'000u}) {
        const auto call = prepare(rank, {collective, DataType::f32, ReduceOp::sum, count, rank.gpu.size() - 1, false}, ++seed);
        fill_gpu(rank.stream, 500'000);
        if (auto started = start(rank, *call); !started) return std::string(to_string(collective)) + ": " + to_string(started.error());
        if (auto said = rank.synchronize(); !said.empty()) return said;
        if (auto said = judge(*call); !said.empty()) return said;
      }
    return "";
  }));
}

TEST_CASE("processes on several GPUs get right results, whether some share one or none", "[.][processes]") {
  const std::uint32_t ranks = GENERATE(2u, 3u);
  check_all(run_gpu_processes(ranks, [](GpuRank& rank) -> std::string {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) {
      if (rank.gpu.rank() == 0) std::puts("rondo-skip: there is one GPU");
      std::fflush(stdout);
      return "";
    }
    std::uint64_t seed = 0;
    for (const Collective collective : all_collectives)
      for (const std::uint64_t count : {1u, 20'000u, 700'000u})
        if (auto said = try_once(rank, {collective, DataType::f32, ReduceOp::sum, count, 0, false}, ++seed); !said.empty()) return said;
    return "";
  }, {}, true));
}

TEST_CASE("processes on several GPUs hear at once of one that died, whether they wait for its call or for its message", "[.][processes]") {
  const bool message = GENERATE(false, true);
  const auto said = run_gpu_processes(2, [message](GpuRank& rank) -> std::string {
    if (rank.gpu.rank() == 1) _exit(0);
    const auto begun = std::chrono::steady_clock::now();
    const GpuBuffer buffer(8u << 20);
    const Result<void> started = message ? rank.gpu.recv(buffer.data(), 1000, DataType::f32, 1, rank.stream)
                                         : rank.gpu.run({Collective::all_reduce, buffer.data(), buffer.data(), 1000}, rank.stream);
    if (!started) return to_string(started.error());
    (void)cudaStreamSynchronize(rank.stream);
    const auto found = rank.gpu.check();
    if (found) return "no error";
    if (std::chrono::steady_clock::now() - begun > std::chrono::seconds(15)) return "it took 15 s, of a deadline of 20";
    return found.error().code == Errc::peer_failed && says(to_string(found.error()), {"rank 1 "}) ? "" : to_string(found.error());
  }, {}, true);
  CHECK(said[0] == "");
}

TEST_CASE("calls of processes that share a GPU follow one another without the host's waiting", "[.][processes]") {
  check_all(run_gpu_processes(3, [](GpuRank& rank) -> std::string {
    std::vector<std::unique_ptr<Prepared>> calls;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      calls.push_back(prepare(rank, {all_collectives[seed % 9], DataType::f32, ReduceOp::sum, seed * seed * 100, 0, false}, seed));
    return try_together(rank, calls);
  }));
}

TEST_CASE("a process that shares a GPU and doesn't call, dies, disagrees or aborts is an error for the others", "[.][processes]") {
  const std::string way = GENERATE("late", "late, by a timeout set since", "dies", "disagrees", "aborts");
  INFO(way);
  const bool since = way == "late, by a timeout set since";
  const auto said = run_gpu_processes(3, [way, since](GpuRank& rank) -> std::string {
    const bool odd = rank.gpu.rank() == 1;
    if (since)
      if (auto set = rank.gpu.set_timeout(std::chrono::seconds(1)); !set) return to_string(set.error());
    if (odd && way.starts_with("late")) {
      sleep(3);
      return "";
    }
    if (odd && way == "dies") _exit(0);
    if (odd && way == "aborts") rank.gpu.abort();
    const std::string found = outcome(rank, odd && way == "disagrees" ? 100u : 1000u);
    return says(found, {"rank 1", "mismatch", "different calls", "aborted", "has failed", "was waited for", "gone"}) ? "" : "said '" + found + "'";
  }, with_timeout(std::chrono::milliseconds(1000)));
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    if (rank != 1) CHECK(said[rank] == "");
}

TEST_CASE("calls of processes that share a GPU can't be captured, and say so", "[.][processes]") {
  check_all(run_gpu_processes(2, [](GpuRank& rank) -> std::string {
    const GpuBuffer buffer(4096);
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return "no capture";
    const auto started = rank.gpu.run({Collective::all_reduce, buffer.data(), buffer.data(), 16}, rank.stream);
    (void)cudaStreamEndCapture(rank.stream, &graph);
    (void)cudaGraphDestroy(graph);
    if (started) return "it was captured";
    return started.error().code == Errc::unsupported && says(to_string(started.error()), {"captured"}) ? "" : to_string(started.error());
  }));
}

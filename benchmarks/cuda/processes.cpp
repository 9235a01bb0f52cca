// All-reduces of ranks that are processes and share one GPU, by turns: wall time a call, since the host takes part in each.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "rondo/cuda.hpp"
#include "sections.hpp"
#include "support/median.hpp"

namespace bench_cuda {
namespace {

using namespace rondo;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 7;

/// The slowest rank's median, in µs a call.
double time_calls(Communicator& host, CudaCommunicator& gpu, std::uint64_t bytes, cudaStream_t stream) {
  const Buffer input(bytes), output(bytes);
  const int repeats = bytes <= (1u << 20) ? 20 : 4;
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    must(host.barrier());
    const auto begun = Clock::now();
    for (int k = 0; k < repeats; ++k) must(gpu.run({Collective::all_reduce, input.data(), output.data(), bytes / 4}, stream));
    must(cudaStreamSynchronize(stream), "running collectives");
    must(gpu.check());
    double mine = std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / repeats, slowest = 0;
    must(host.all_reduce(&mine, &slowest, 1, DataType::f64, ReduceOp::max));
    if (round != 0) times.push_back(slowest);
  }
  return bench_support::median(times);
}

/// What rank 0 found goes into `told`, a line a size.
void be_rank(std::uint32_t rank, std::uint32_t ranks, const std::string& job, const CollectiveOptions& options, int told) {
  auto host = Communicator::local(rank, ranks, job);
  if (!host) must(host.error());
  CudaOptions gpu_options;
  gpu_options.device = 0;
  gpu_options.timeout = std::chrono::seconds(20);
  gpu_options.algorithm = options.algorithm;
  auto gpu = CudaCommunicator::create(*host, gpu_options);
  if (!gpu) must(gpu.error());
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{64} << 10, std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
    const auto plan = gpu->plan_for({Collective::all_reduce, nullptr, nullptr, bytes / 4});
    if (!plan) must(plan.error());
    const double us = time_calls(*host, *gpu, bytes, stream);
    const std::string line = json{{"ranks", ranks}, {"bytes", bytes}, {"algorithm", plan->header.algorithm}, {"us", us}}.dump() + "\n";
    if (rank == 0 && write(told, line.data(), line.size()) < 0) std::perror("bench_cuda");
  }
  must(cudaStreamDestroy(stream), "ending a stream");
}

/// What all of them wrote, once they have ended.
std::string run_ranks(std::uint32_t ranks, const CollectiveOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const std::string job = "bench-cuda-" + std::to_string(getpid()) + "-" + std::to_string(ranks);
  std::fflush(stdout);  // or each child would print it, too
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      be_rank(rank, ranks, job, options, ends[1]);
      std::fflush(stdout);
      _exit(0);
    }
    children.push_back(child);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  for (const pid_t child : children) (void)waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

json measure_processes(const CollectiveOptions& options) {
  std::printf("all_reduce f32 sum, ranks are processes that share the GPU, by turns\n%6s %12s %-18s %9s\n", "ranks", "bytes", "plan", "us");
  json rows = json::array();
  for (const std::uint32_t ranks : options.ranks) {
    const std::string text = run_ranks(ranks, options);
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      rows.push_back(json::parse(text.substr(at, end - at)));
      const json& row = rows.back();
      std::printf("%6u %12llu %-18s %9.1f\n", ranks, static_cast<unsigned long long>(row["bytes"].get<std::uint64_t>()),
                  row["algorithm"].get<std::string>().c_str(), row["us"].get<double>());
    }
    std::fflush(stdout);
  }
  return rows;
}

}  // namespace bench_cuda

// bench_cuda: what reductions, fused buckets and collectives reach on this GPU, as parts of what its own copy reaches in the same run.
#include <cstdio>
#include <fstream>

#include "gpu.hpp"
#include "sections.hpp"
#include "tools/support/flags.hpp"

int main(int argc, char** argv) {
  bench_cuda::CollectiveOptions options;
  std::string json, only;
  CLI::App app("Measures kernels and collectives on this machine's GPU. Collectives run between threads that share it.");
  app.add_option("--json", json, "Write what was measured to this file");
  app.add_option("--only", only, "floors, kernels, collectives or processes alone")->check(CLI::IsMember({"floors", "kernels", "collectives", "processes"}));
  app.add_option("--ranks", options.ranks, "How many threads or processes share the GPU; several numbers are measured one after the other")
      ->check(tool_support::whole_number(1, 64));
  app.add_option("--blocks", options.blocks, "Blocks a call of a rank takes")->check(tool_support::whole_number(1, 512));
  app.add_option("--threads", options.threads, "Of each block, a multiple of 32")->check(tool_support::whole_number(64, 256));
  app.add_option("--piece", options.piece_bytes, "Bytes that a block moves at once, a multiple of 64")->check(tool_support::whole_number(64, 1u << 30));
  app.add_option("--algorithm", options.algorithm, "Of the collectives, wherever it can serve");
  app.add_option("--plan", options.plan, "A file with a plan to run");
  app.add_flag("--unverified", options.unverified, "Don't prove it first");
  app.add_flag("--quick", options.quick, "Fewer sizes");
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "bench_cuda", status)) return status;

  const nlohmann::json processes = only.empty() || only == "processes" ? bench_cuda::measure_processes(options) : nlohmann::json();
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::fprintf(stderr, "bench_cuda: no GPU found\n");
    return 3;
  }
  cudaDeviceProp properties;
  bench_cuda::must(cudaGetDeviceProperties(&properties, 0), "asking what GPU this is");
  const double copy = bench_cuda::copy_bytes_per_s(64u << 20);
  nlohmann::json result{
      {"gpu", properties.name}, {"multiprocessors", properties.multiProcessorCount}, {"l2_bytes", properties.l2CacheSize}, {"copy_bytes_per_s", copy}};
  std::printf("%s: its own copy moves %.0f GB/s, read and written\n", properties.name, copy / 1e9);
  if (!processes.is_null()) result["processes"] = processes;
  const auto save = [&] {
    if (!json.empty()) std::ofstream(json) << result.dump(1) << '\n';
  };
  if (only.empty() || only == "floors") result["floors"] = bench_cuda::measure_floors();
  if (only.empty() || only == "kernels") result["kernels"] = bench_cuda::measure_kernels(copy, options.quick);
  save();  // should the rest fail
  if (only.empty() || only == "collectives") result["collectives"] = bench_cuda::measure_collectives(copy, options);
  save();
  return 0;
}

// The parts of the measurement, each of which says what it found in JSON and in lines on stdout.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bench_cuda {

/// What no call can be faster than.
nlohmann::json measure_floors();

/// Reductions of n sources and fused buckets, as parts of what the GPU's copy reaches.
nlohmann::json measure_kernels(double copy_bytes_per_s, bool quick);

struct CollectiveOptions {
  std::vector<std::uint32_t> ranks = {2, 4, 8};
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::uint64_t piece_bytes = 0;
  std::string algorithm;
  std::string plan;         ///< a file; empty: none
  bool unverified = false;
  bool quick = false;
};

/// All-reduces between threads that share the GPU.
nlohmann::json measure_collectives(double copy_bytes_per_s, const CollectiveOptions& options);

/// All-reduces between processes that share the GPU. They are forked, so this process may not have used CUDA before.
nlohmann::json measure_processes(const CollectiveOptions& options);

}  // namespace bench_cuda

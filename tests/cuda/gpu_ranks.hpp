// Ranks as threads that share one GPU (or have one each), for tests that need one.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/cuda.hpp"

namespace rondo::test {

/// GPU memory filled from the host's, and back. cudaFree would wait for all kernels on the GPU, those of peers among them that wait for this rank.
class GpuBuffer {
 public:
  explicit GpuBuffer(std::uint64_t bytes);
  void put(const void* from, std::uint64_t bytes);
  void get(void* to, std::uint64_t bytes) const;
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  struct Free {
    void operator()(void* memory) const { (void)cudaFreeAsync(memory, cudaStreamPerThread); }
  };
  std::unique_ptr<void, Free> memory_;
};

/// A rank in its thread: its communicator and a stream of its own.
struct GpuRank {
  Communicator& host;
  CudaCommunicator& gpu;
  cudaStream_t stream;

  /// Waits for the stream; "" or what is wrong.
  std::string synchronize() const;
};

/// What one rank does; "" when all was well, else what was wrong. No Catch macros.
using GpuBody = std::function<std::string(GpuRank&)>;

/// Element r: what rank r said.
std::vector<std::string> run_gpu_ranks(std::uint32_t ranks, const GpuBody& body, const CudaOptions& options = {});

/// The same as processes, which all take the first GPU or, `apart`, GPUs by turns. This process may not have used CUDA before.
std::vector<std::string> run_gpu_processes(std::uint32_t ranks, const GpuBody& body, const CudaOptions& options = {}, bool apart = false);

/// Occupies every multiprocessor of the current GPU for a while.
void fill_gpu(cudaStream_t stream, std::uint64_t nanoseconds);

CudaOptions with_timeout(std::chrono::milliseconds timeout);

/// Whether there is one.
bool has_gpu();

}  // namespace rondo::test

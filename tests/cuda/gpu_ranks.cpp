#include "cuda/gpu_ranks.hpp"

#include <cstdio>
#include <cstdlib>

#include "support/ranks.hpp"

namespace rondo::test {
namespace {

void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::abort();
}

/// In a stream that others don't wait for: the legacy one would wait for every rank's.
void copy(void* to, const void* from, std::uint64_t bytes) {
  must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamPerThread), "copying");
  must(cudaStreamSynchronize(cudaStreamPerThread), "copying");
}

std::string as_gpu_rank(Communicator& host, const GpuBody& body, const CudaOptions& options) {
  int gpus = 0;
  must(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  CudaOptions mine = options;
  if (mine.timeout == CudaOptions{}.timeout) mine.timeout = std::chrono::seconds(20);
  if (mine.device < 0) mine.device = static_cast<int>(host.rank()) % gpus;
  must(cudaSetDevice(mine.device), "cudaSetDevice");
  auto gpu = CudaCommunicator::create(host, mine);
  if (!gpu) return to_string(gpu.error());
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  GpuRank rank{host, *gpu, stream};
  std::string said = body(rank);
  (void)cudaStreamSynchronize(stream);
  (void)cudaStreamDestroy(stream);
  return said;
}

}  // namespace

GpuBuffer::GpuBuffer(std::uint64_t bytes) {
  void* memory = nullptr;
  must(cudaMallocAsync(&memory, bytes == 0 ? 1 : bytes, cudaStreamPerThread), "cudaMallocAsync");
  must(cudaStreamSynchronize(cudaStreamPerThread), "cudaMallocAsync");
  memory_.reset(memory);
}

void GpuBuffer::put(const void* from, std::uint64_t bytes) { copy(data(), from, bytes); }
void GpuBuffer::get(void* to, std::uint64_t bytes) const { copy(to, data(), bytes); }

std::string GpuRank::synchronize() const {
  if (const cudaError_t status = cudaStreamSynchronize(stream); status != cudaSuccess) return cudaGetErrorString(status);
  if (auto fine = gpu.check(); !fine) return to_string(fine.error());
  return "";
}

std::vector<std::string> run_gpu_ranks(std::uint32_t ranks, const GpuBody& body, const CudaOptions& options) {
  return run_threads(ranks, [&](Communicator& host) { return as_gpu_rank(host, body, options); });
}

std::vector<std::string> run_gpu_processes(std::uint32_t ranks, const GpuBody& body, const CudaOptions& options, bool apart) {
  CudaOptions mine = options;
  mine.device = apart ? -1 : 0;
  return run_processes(ranks, [&](Communicator& host) { return as_gpu_rank(host, body, mine); });
}

CudaOptions with_timeout(std::chrono::milliseconds timeout) {
  CudaOptions options;
  options.timeout = timeout;
  return options;
}

bool has_gpu() {
  int gpus = 0;
  return cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0;
}

}  // namespace rondo::test

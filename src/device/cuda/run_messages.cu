// The kernel of an exchange: a grid of blocks, each of which has its slices of messages.
#include <new>

#include "base/on_device.hpp"
#include "device/cuda/cuda_block.cuh"
#include "device/cuda/launch.hpp"
#include "device/run_messages.hpp"

namespace rondo::device {
namespace {

template <std::uint32_t room>
struct Batch {
  Exchange exchange;
  Message messages[room];
};

template <std::uint32_t room>
__global__ void __launch_bounds__(most_threads, blocks_at_once) run_batch(const __grid_constant__ Batch<room> batch) {
  __shared__ Shared shared;
  __shared__ alignas(Job) std::byte job[sizeof(Job)];
  if (batch.exchange.messages == 0) return;  // as run_job's without slices
  CudaBlock block(shared, batch.exchange.group.one_gpu);
  if (threadIdx.x == 0) new (job) Job;
  run_messages(block, *reinterpret_cast<Job*>(job), batch.exchange, batch.messages, blockIdx.x);
}

template <std::uint32_t room>
cudaError_t start(const Exchange& exchange, const Message* messages, void* stream) {
  Batch<room> batch{exchange, {}};
  for (std::uint32_t m = 0; m < exchange.messages; ++m) batch.messages[m] = messages[m];
  void* arguments[] = {&batch};
  return cudaLaunchKernel(reinterpret_cast<const void*>(run_batch<room>), dim3(exchange.blocks), dim3(exchange.threads), arguments, 0,
                          static_cast<cudaStream_t>(stream));
}

}  // namespace

Result<void> launch_exchange(const Exchange& exchange, const Message* messages, void* stream) {
  const cudaError_t status = exchange.messages <= few_messages ? start<few_messages>(exchange, messages, stream)
                                                               : start<most_messages>(exchange, messages, stream);
  if (status != cudaSuccess) return cuda_error(status, "starting an exchange of messages");
  return {};
}

Result<void> load_exchanges(void* stream) {
  Exchange nothing;
  nothing.blocks = 1;
  nothing.threads = most_threads;
  cudaError_t status = start<few_messages>(nothing, nullptr, stream);
  if (status == cudaSuccess) status = start<most_messages>(nothing, nullptr, stream);
  if (status != cudaSuccess) return cuda_error(status, "loading a kernel");
  return {};
}

Result<int> resident_exchange_blocks(unsigned threads) {
  int few = 0, many = 0;
  cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, reinterpret_cast<const void*>(run_batch<few_messages>),
                                                                     static_cast<int>(threads), 0);
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, reinterpret_cast<const void*>(run_batch<most_messages>), static_cast<int>(threads), 0);
  if (status != cudaSuccess) return cuda_error(status, "asking how many blocks of an exchange run at once");
  return few < many ? few : many;
}

}  // namespace rondo::device

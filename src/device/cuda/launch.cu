#include "device/cuda/launch.hpp"

#include "base/on_device.hpp"
#include "device/cuda/run_job.cuh"

namespace rondo::device {
namespace {

JobKernel kernel_of(DataType type) {
  switch (type) {
    case DataType::f32:
    case DataType::f64: return float_kernel(type);
    case DataType::f16:
    case DataType::bf16: return half_kernel(type);
    case DataType::i32:
    case DataType::u32: return word_kernel(type);
    case DataType::i64:
    case DataType::u64: return long_kernel(type);
    case DataType::i16:
    case DataType::u16: return short_kernel(type);
    case DataType::i8:
    case DataType::u8: break;
  }
  return byte_kernel(type);
}

}  // namespace

Result<void> launch(const Job& job, DataType type, bool reduces, void* stream) {
  void* arguments[] = {const_cast<Job*>(&job)};  // read alone
  const JobKernel kernel = kernel_of(reduces ? type : DataType::u8);
  const cudaError_t status = cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(job.lane_count, job.slices), dim3(job.threads), arguments, 0,
                                              static_cast<cudaStream_t>(stream));
  if (status != cudaSuccess) return cuda_error(status, "starting a collective");
  return {};
}

Result<void> load_kernels(void* stream) {
  Job nothing;
  nothing.slices = 0;
  void* arguments[] = {&nothing};
  for (std::uint8_t type = 0; type < data_type_count; ++type) {
    const auto* kernel = reinterpret_cast<const void*>(kernel_of(static_cast<DataType>(type)));
    const cudaError_t status = cudaLaunchKernel(kernel, dim3(1), dim3(most_threads), arguments, 0, static_cast<cudaStream_t>(stream));
    if (status != cudaSuccess) return cuda_error(status, "loading a kernel");
  }
  if (auto loaded = load_exchanges(stream); !loaded) return loaded;
  const cudaError_t status = cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
  if (status != cudaSuccess) return cuda_error(status, "loading kernels");
  return {};
}

Result<int> resident_blocks(unsigned threads) {
  const auto of_exchanges = resident_exchange_blocks(threads);
  if (!of_exchanges) return of_exchanges;
  int least = *of_exchanges;
  for (const DataType type : {DataType::u8, DataType::f32, DataType::f64, DataType::bf16, DataType::i64}) {
    int blocks = 0;
    const auto* kernel = reinterpret_cast<const void*>(kernel_of(type));
    const cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), 0);
    if (status != cudaSuccess) return cuda_error(status, "asking how many blocks run at once");
    if (blocks < least) least = blocks;
  }
  return least;
}

}  // namespace rondo::device

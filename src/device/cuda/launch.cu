#include "device/cuda/launch.hpp"

#include <algorithm>
#include <vector>

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

JobKernel kernel_of(const Elements& elements) {
  if (elements.wire) return wire_kernel(*elements.wire);
  return kernel_of(elements.combines ? elements.type : DataType::u8);
}

ListKernel list_kernel_of(const Elements& elements) { return elements.wire ? wire_list_kernel(*elements.wire) : list_kernel(elements.type); }

struct Kernel {
  const void* function;
  bool listed;
};

/// All of them.
std::vector<Kernel> kernels() {
  std::vector<Kernel> all;
  for (std::uint8_t type = 0; type < data_type_count; ++type)
    all.push_back({reinterpret_cast<const void*>(kernel_of(static_cast<DataType>(type))), false});
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) all.push_back({reinterpret_cast<const void*>(list_kernel(type)), true});
  for (const DataType wire : {DataType::f16, DataType::bf16}) {
    all.push_back({reinterpret_cast<const void*>(wire_kernel(wire)), false});
    all.push_back({reinterpret_cast<const void*>(wire_list_kernel(wire)), true});
  }
  return all;
}

}  // namespace

Result<void> launch(const Job& job, const Elements& elements, std::span<const Segment> list, void* stream) {
  const dim3 blocks(job.lane_count, job.slices), threads(job.threads);
  cudaError_t status = cudaSuccess;
  if (list.empty()) {
    void* arguments[] = {const_cast<Job*>(&job)};  // read alone
    status = cudaLaunchKernel(reinterpret_cast<const void*>(kernel_of(elements)), blocks, threads, arguments, 0, static_cast<cudaStream_t>(stream));
  } else {
    ListedJob listed{job, static_cast<std::uint32_t>(list.size()), {}};
    std::copy(list.begin(), list.end(), listed.segments);
    void* arguments[] = {&listed};
    status = cudaLaunchKernel(reinterpret_cast<const void*>(list_kernel_of(elements)), blocks, threads, arguments, 0, static_cast<cudaStream_t>(stream));
  }
  if (status != cudaSuccess) return cuda_error(status, "starting a collective");
  return {};
}

Result<void> load_kernels(void* stream) {
  ListedJob nothing;
  nothing.job.slices = 0;
  for (const Kernel& kernel : kernels()) {
    void* arguments[] = {kernel.listed ? static_cast<void*>(&nothing) : &nothing.job};
    const cudaError_t status = cudaLaunchKernel(kernel.function, dim3(1), dim3(most_threads), arguments, 0, static_cast<cudaStream_t>(stream));
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
  for (const Kernel& kernel : kernels()) {
    int blocks = 0;
    const cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, static_cast<int>(threads), 0);
    if (status != cudaSuccess) return cuda_error(status, "asking how many blocks run at once");
    if (blocks < least) least = blocks;
  }
  return least;
}

}  // namespace rondo::device

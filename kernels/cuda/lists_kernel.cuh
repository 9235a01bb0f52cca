// The kernel of cuda_combine_lists.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/lists_table.hpp"

namespace rondo::cuda {

inline constexpr unsigned lists_threads = 256;

template <class S, class D>
__global__ void __launch_bounds__(lists_threads, 4) lists_kernel(const __grid_constant__ ListsTable table) {
  __shared__ std::uint64_t addresses[2 * most_lists];
  __shared__ Tile tile;
  const std::uint32_t end = table.share(blockIdx.x + 1, gridDim.x);
  std::uint32_t number = table.share(blockIdx.x, gridDim.x);
  for (std::uint32_t tensor = table.tensor_of(number); number < end; ++tensor) {
    const ListsTable::Run run = table.run(tensor, number, end);
    __syncthreads();  // the run before is done
    if (threadIdx.x < table.sources + table.destinations) addresses[threadIdx.x] = table.addresses(tensor)[threadIdx.x];
    if (threadIdx.x == 0)
      tile = {reinterpret_cast<const void* const*>(addresses),
              reinterpret_cast<void* const*>(addresses + table.sources),
              table.sources,
              table.destinations,
              run.first,
              run.count,
              table.scale};
    __syncthreads();
    add_tile<S, D>(tile, Lanes{threadIdx.x, lists_threads});
    number = run.end;
  }
}

using ListsKernel = void (*)(ListsTable);

/// Kernels from one type, a file each.
ListsKernel lists_from_f32(CudaFloat to);
ListsKernel lists_from_f16(CudaFloat to);
ListsKernel lists_from_bf16(CudaFloat to);
ListsKernel lists_from_e4m3(CudaFloat to);
ListsKernel lists_from_e5m2(CudaFloat to);

/// The kernel from S to a type; null for f64.
template <class S>
ListsKernel lists_to(CudaFloat to) {
  switch (to) {
    case CudaFloat::f32: return lists_kernel<S, float>;
    case CudaFloat::f16: return lists_kernel<S, F16>;
    case CudaFloat::bf16: return lists_kernel<S, Bf16>;
    case CudaFloat::e4m3: return lists_kernel<S, E4m3>;
    case CudaFloat::e5m2: return lists_kernel<S, E5m2>;
    case CudaFloat::f64: break;
  }
  return nullptr;
}

}  // namespace rondo::cuda

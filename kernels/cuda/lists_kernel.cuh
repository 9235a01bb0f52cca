// The kernel of cuda_combine_lists.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/lists_table.hpp"

namespace rondo::cuda {

template <class S, class D>
__global__ void __launch_bounds__(lists_threads, 4) lists_kernel(const __grid_constant__ ListsTable table) {
  __shared__ std::uint64_t addresses[2 * most_lists];
  __shared__ Tile tile;
  for (std::uint32_t number = blockIdx.x; number < table.tiles; number += gridDim.x) {
    __syncthreads();  // the tile before is done
    if (threadIdx.x < 32) {
      const std::uint32_t tensor = table.tensor_of(number);
      const std::uint64_t first = (number - table.first_tile(tensor)) * tile_elements<S, D>, left = table.count(tensor) - first;
      if (threadIdx.x < table.sources + table.destinations) addresses[threadIdx.x] = table.addresses(tensor)[threadIdx.x];
      if (threadIdx.x == 0)
        tile = {reinterpret_cast<const void* const*>(addresses),
                reinterpret_cast<void* const*>(addresses + table.sources),
                table.sources,
                table.destinations,
                first,
                static_cast<std::uint32_t>(left < tile_elements<S, D> ? left : tile_elements<S, D>),
                table.scale};
    }
    __syncthreads();
    add_tile<S, D>(tile, Lanes{threadIdx.x, lists_threads});
  }
}

/// A kernel, null where there is none, and into what tiles its tables are cut.
struct ListsKernel {
  void (*start)(ListsTable) = nullptr;
  std::uint32_t tile_elements = 0;
};

/// Kernels from one type, a file each.
ListsKernel lists_from_f32(CudaFloat to);
ListsKernel lists_from_f16(CudaFloat to);
ListsKernel lists_from_bf16(CudaFloat to);
ListsKernel lists_from_e4m3(CudaFloat to);
ListsKernel lists_from_e5m2(CudaFloat to);

/// The kernel from S to a type; null for f64.
template <class S, class D>
ListsKernel lists_kernel_of() {
  return {lists_kernel<S, D>, tile_elements<S, D>};
}

template <class S>
ListsKernel lists_to(CudaFloat to) {
  switch (to) {
    case CudaFloat::f32: return lists_kernel_of<S, float>();
    case CudaFloat::f16: return lists_kernel_of<S, F16>();
    case CudaFloat::bf16: return lists_kernel_of<S, Bf16>();
    case CudaFloat::e4m3: return lists_kernel_of<S, E4m3>();
    case CudaFloat::e5m2: return lists_kernel_of<S, E5m2>();
    case CudaFloat::f64: break;
  }
  return {};
}

}  // namespace rondo::cuda

// The kernel of cuda_combine: one call, shared by all threads of a grid.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/span.hpp"
#include "rondo/cuda_kernels.hpp"

namespace rondo::cuda {

inline constexpr unsigned combine_threads = 512;

/// A call with its arrays, as it travels in a kernel's parameters.
struct PackedCall {
  KernelCall call;
  ReduceOp op;
  const void* sources[cuda_combine_limit];
  void* destinations[cuda_combine_limit];
};

template <class T>
__global__ void __launch_bounds__(combine_threads, 2) combine_kernel(const __grid_constant__ PackedCall packed) {
  __shared__ KernelCall call;
  __shared__ const void* sources[cuda_combine_limit];  // indexed at run time: parameters would be copied to local memory for that
  __shared__ void* destinations[cuda_combine_limit];
  if (threadIdx.x < cuda_combine_limit) {
    sources[threadIdx.x] = packed.sources[threadIdx.x];
    destinations[threadIdx.x] = packed.destinations[threadIdx.x];
  }
  if (threadIdx.x == 0) {
    call = packed.call;
    call.sources = sources;
    call.destinations = destinations;
  }
  __syncthreads();
  combine_span<T>(call, packed.op, Lanes{blockIdx.x * combine_threads + threadIdx.x, gridDim.x * combine_threads});
}

using CombineKernel = void (*)(PackedCall);

/// Kernels by type, a file for each family of them, since each takes its compiler a while. Null for types of other families.
CombineKernel combine_bytes(DataType type);
CombineKernel combine_shorts(DataType type);
CombineKernel combine_words(DataType type);
CombineKernel combine_longs(DataType type);
CombineKernel combine_halves(DataType type);
CombineKernel combine_floats(DataType type);

}  // namespace rondo::cuda

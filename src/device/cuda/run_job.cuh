// The kernel: a grid of lanes × slices.
#pragma once

#include <cuda_runtime.h>

#include "device/cuda/cuda_block.cuh"
#include "device/cuda/launch.hpp"
#include "device/walk.hpp"

namespace rondo::device {

template <class Element>
__global__ void __launch_bounds__(most_threads, blocks_at_once) run_job(const __grid_constant__ Job job) {
  __shared__ Shared shared;
  if (job.slices == 0) return;  // a kernel is loaded, and given its stack, when it is started first
  CudaBlock block(shared, job.group.one_gpu);
  Walk<Element, CudaBlock>(block, job, blockIdx.x, blockIdx.y).run();
}

using JobKernel = void (*)(Job);

/// A call on a list, which rides in the kernel's arguments.
struct ListedJob {
  Job job;
  std::uint32_t count = 0;
  Segment segments[most_segments];
};
static_assert(sizeof(ListedJob) <= 32764, "what a kernel's arguments have room for");

template <class Element>
__global__ void __launch_bounds__(most_threads, blocks_at_once) run_list(const __grid_constant__ ListedJob listed) {
  __shared__ Shared shared;
  if (listed.job.slices == 0) return;
  CudaBlock block(shared, listed.job.group.one_gpu);
  Walk<Element, CudaBlock, true>(block, listed.job, blockIdx.x, blockIdx.y, List{listed.segments, listed.count}).run();
}

using ListKernel = void (*)(ListedJob);

/// Kernels by type, a file for each family of them, since each takes its compiler a while.
JobKernel float_kernel(DataType type);
JobKernel half_kernel(DataType type);
JobKernel byte_kernel(DataType type);
JobKernel short_kernel(DataType type);
JobKernel word_kernel(DataType type);
JobKernel long_kernel(DataType type);
JobKernel wire_kernel(DataType wire);
ListKernel list_kernel(DataType type);
ListKernel wire_list_kernel(DataType wire);

}  // namespace rondo::device

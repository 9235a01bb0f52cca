#include "kernels/cuda/lists_kernel.cuh"

namespace rondo::cuda {

ListsKernel lists_from_f32(CudaFloat to) { return lists_to<float>(to); }

}  // namespace rondo::cuda

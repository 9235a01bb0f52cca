#include "kernels/cuda/lists_kernel.cuh"

namespace rondo::cuda {

ListsKernel lists_from_bf16(CudaFloat to) { return lists_to<Bf16>(to); }

}  // namespace rondo::cuda

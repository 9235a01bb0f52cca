#include "kernels/cuda/lists_kernel.cuh"

namespace rondo::cuda {

ListsKernel lists_from_f16(CudaFloat to) { return lists_to<F16>(to); }

}  // namespace rondo::cuda

#include "kernels/cuda/lists_kernel.cuh"

namespace rondo::cuda {

ListsKernel lists_from_e5m2(CudaFloat to) { return lists_to<E5m2>(to); }

}  // namespace rondo::cuda

#include "kernels/cuda/lists_kernel.cuh"

namespace rondo::cuda {

ListsKernel lists_from_e4m3(CudaFloat to) { return lists_to<E4m3>(to); }

}  // namespace rondo::cuda

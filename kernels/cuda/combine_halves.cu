#include "kernels/cuda/combine_kernel.cuh"

namespace rondo::cuda {

CombineKernel combine_halves(DataType type) {
  if (type == DataType::f16) return combine_kernel<F16>;
  return type == DataType::bf16 ? combine_kernel<Bf16> : nullptr;
}

}  // namespace rondo::cuda

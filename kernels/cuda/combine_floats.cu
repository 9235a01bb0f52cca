#include "kernels/cuda/combine_kernel.cuh"

namespace rondo::cuda {

CombineKernel combine_floats(DataType type) {
  if (type == DataType::f32) return combine_kernel<float>;
  return type == DataType::f64 ? combine_kernel<double> : nullptr;
}

}  // namespace rondo::cuda

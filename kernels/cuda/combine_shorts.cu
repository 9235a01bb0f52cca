#include "kernels/cuda/combine_kernel.cuh"

namespace rondo::cuda {

CombineKernel combine_shorts(DataType type) {
  if (type == DataType::i16) return combine_kernel<std::int16_t>;
  return type == DataType::u16 ? combine_kernel<std::uint16_t> : nullptr;
}

}  // namespace rondo::cuda

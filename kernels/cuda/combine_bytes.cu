#include "kernels/cuda/combine_kernel.cuh"

namespace rondo::cuda {

CombineKernel combine_bytes(DataType type) {
  if (type == DataType::i8) return combine_kernel<std::int8_t>;
  return type == DataType::u8 ? combine_kernel<std::uint8_t> : nullptr;
}

}  // namespace rondo::cuda

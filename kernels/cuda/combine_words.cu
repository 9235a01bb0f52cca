#include "kernels/cuda/combine_kernel.cuh"

namespace rondo::cuda {

CombineKernel combine_words(DataType type) {
  if (type == DataType::i32) return combine_kernel<std::int32_t>;
  return type == DataType::u32 ? combine_kernel<std::uint32_t> : nullptr;
}

}  // namespace rondo::cuda

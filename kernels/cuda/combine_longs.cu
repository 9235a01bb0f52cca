#include "kernels/cuda/combine_kernel.cuh"

namespace rondo::cuda {

CombineKernel combine_longs(DataType type) {
  if (type == DataType::i64) return combine_kernel<std::int64_t>;
  return type == DataType::u64 ? combine_kernel<std::uint64_t> : nullptr;
}

}  // namespace rondo::cuda

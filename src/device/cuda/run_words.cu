#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel word_kernel(DataType type) {
  switch (type) {
    case DataType::i32: return run_job<std::int32_t>;
    case DataType::u32: return run_job<std::uint32_t>;
    case DataType::i64: return run_job<std::int64_t>;
    default: return run_job<std::uint64_t>;
  }
}

}  // namespace rondo::device

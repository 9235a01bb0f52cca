#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel word_kernel(DataType type) { return type == DataType::i32 ? run_job<std::int32_t> : run_job<std::uint32_t>; }

}  // namespace rondo::device

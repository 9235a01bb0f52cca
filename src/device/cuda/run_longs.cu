#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel long_kernel(DataType type) { return type == DataType::i64 ? run_job<std::int64_t> : run_job<std::uint64_t>; }

}  // namespace rondo::device

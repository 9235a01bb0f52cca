#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel byte_kernel(DataType type) { return type == DataType::i8 ? run_job<std::int8_t> : run_job<std::uint8_t>; }

}  // namespace rondo::device

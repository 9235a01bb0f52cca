#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel short_kernel(DataType type) { return type == DataType::i16 ? run_job<std::int16_t> : run_job<std::uint16_t>; }

}  // namespace rondo::device

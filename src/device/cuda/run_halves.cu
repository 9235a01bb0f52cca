#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel half_kernel(DataType type) { return type == DataType::f16 ? run_job<cuda::F16> : run_job<cuda::Bf16>; }

}  // namespace rondo::device

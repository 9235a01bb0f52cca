#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel float_kernel(DataType type) { return type == DataType::f32 ? run_job<float> : run_job<double>; }

}  // namespace rondo::device

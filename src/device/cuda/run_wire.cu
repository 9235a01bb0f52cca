#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel wire_kernel(DataType wire) { return wire == DataType::f16 ? run_job<OnWire<cuda::F16>> : run_job<OnWire<cuda::Bf16>>; }

}  // namespace rondo::device

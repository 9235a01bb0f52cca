#include "device/cuda/run_job.cuh"

namespace rondo::device {

ListKernel wire_list_kernel(DataType wire) { return wire == DataType::f16 ? run_list<OnWire<cuda::F16>> : run_list<OnWire<cuda::Bf16>>; }

}  // namespace rondo::device

#include "device/cuda/run_job.cuh"

namespace rondo::device {

ListKernel list_kernel(DataType type) {
  if (type == DataType::f32) return run_list<float>;
  return type == DataType::f16 ? run_list<cuda::F16> : run_list<cuda::Bf16>;
}

}  // namespace rondo::device

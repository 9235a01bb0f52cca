// What kernels' grids are sized by.
#pragma once

#include "base/on_device.hpp"

namespace rondo::cuda {

/// Multiprocessors of the current device.
inline Result<unsigned> multiprocessors() {
  int device = 0, count = 0;
  if (auto asked = cuda_result(cudaGetDevice(&device), "asking for the current GPU"); !asked) return asked.error();
  if (auto asked = cuda_result(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking what GPU this is"); !asked) return asked.error();
  return static_cast<unsigned>(count);
}

}  // namespace rondo::cuda

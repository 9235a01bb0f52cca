// CUDA's errors as values.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "rondo/result.hpp"

namespace rondo::cuda {

/// `call` is what was tried.
inline Error failure(cudaError_t status, const char* call) {
  Errc code = Errc::io;  // a GPU that has failed, or work before this call that has
  switch (status) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorInitializationError:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorDevicesUnavailable: code = Errc::unsupported; break;
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources: code = Errc::out_of_resources; break;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDevice: code = Errc::invalid_argument; break;
    default: break;
  }
  return Error{code, std::string(call) + ": " + cudaGetErrorString(status), 0, "cuda"};
}

/// Multiprocessors of the current device.
inline Result<unsigned> multiprocessors() {
  int device = 0, count = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess) return failure(status, "cudaGetDevice");
  const cudaError_t status = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  if (status != cudaSuccess) return failure(status, "cudaDeviceGetAttribute(multiprocessors)");
  return static_cast<unsigned>(count);
}

}  // namespace rondo::cuda

// CUDA's errors as ours, and its current device for a scope.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "rondo/result.hpp"

namespace rondo {

/// `what`, with CUDA's words. io: a GPU that has failed, or earlier work on it.
inline Error cuda_error(cudaError_t status, std::string_view what) {
  Errc code = Errc::io;
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
    case cudaErrorNotSupported:
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorDevicesUnavailable: code = Errc::unsupported; break;
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources: code = Errc::out_of_resources; break;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDevice: code = Errc::invalid_argument; break;
    default: break;
  }
  return Error{code, std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")", 0, "CUDA"};
}

/// The same as a result. Takes the error off CUDA's own record of the last one.
inline Result<void> cuda_result(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return {};
  (void)cudaGetLastError();
  return cuda_error(status, what);
}

/// The thread's current device, until the scope ends.
class OnDevice {
 public:
  explicit OnDevice(int device) : status_(cudaGetDevice(&before_)) {
    if (status_ == cudaSuccess && before_ != device) status_ = cudaSetDevice(device);
    else if (status_ == cudaSuccess) before_ = -1;
  }
  ~OnDevice() {
    if (before_ >= 0) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Result<void> result() const { return cuda_result(status_, "choosing the GPU"); }

 private:
  int before_ = -1;
  cudaError_t status_;
};

}  // namespace rondo

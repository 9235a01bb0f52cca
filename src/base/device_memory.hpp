// GPU memory that goes back by itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/on_device.hpp"

namespace rondo {

struct FreeDevice {
  void operator()(void* memory) const { (void)cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;

/// Of the current device.
inline Result<DeviceMemory> take_device(std::uint64_t bytes) {
  void* memory = nullptr;
  if (auto taken = cuda_result(cudaMalloc(&memory, bytes), "taking " + std::to_string(bytes) + " bytes of GPU memory"); !taken) return taken.error();
  return DeviceMemory(memory);
}

}  // namespace rondo

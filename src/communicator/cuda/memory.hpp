// Memory of a GPU that is given out in parts, memory that it reads, streams and events, which go back by themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/device_memory.hpp"

namespace rondo {

struct FreePinned {
  void operator()(void* memory) const { (void)cudaFreeHost(memory); }
};
struct DestroyEvent {
  void operator()(CUevent_st* event) const { (void)cudaEventDestroy(event); }
};
struct DestroyStream {
  void operator()(CUstream_st* stream) const { (void)cudaStreamDestroy(stream); }
};
using PinnedMemory = std::unique_ptr<void, FreePinned>;
using CudaEvent = std::unique_ptr<CUevent_st, DestroyEvent>;
using CudaStream = std::unique_ptr<CUstream_st, DestroyStream>;

/// Of the current device; the default stream's work doesn't hold it up.
inline Result<CudaStream> make_stream() {
  cudaStream_t stream = nullptr;
  if (auto made = cuda_result(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"); !made) return made.error();
  return CudaStream(stream);
}

/// Without a time, which costs.
inline Result<CudaEvent> make_event() {
  cudaEvent_t event = nullptr;
  if (auto made = cuda_result(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"); !made) return made.error();
  return CudaEvent(event);
}

/// Memory that is taken once and given out in parts, which go back together: taking more from CUDA while peers' blocks wait for this rank may wait for them.
class DeviceArena {
 public:
  static constexpr std::uint64_t unit = 256;

  static Result<DeviceArena> take(std::uint64_t bytes) {
    auto memory = take_device(bytes);
    if (!memory) return memory.error();
    return DeviceArena(std::move(*memory), bytes);
  }
  DeviceArena() = default;

  /// Null where it is full.
  std::byte* part(std::uint64_t bytes) {
    const std::uint64_t begin = used_;
    if (bytes > bytes_ - begin) return nullptr;
    used_ = std::min(bytes_, (begin + bytes + unit - 1) / unit * unit);
    return static_cast<std::byte*>(memory_.get()) + begin;
  }

 private:
  DeviceArena(DeviceMemory memory, std::uint64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  DeviceMemory memory_;
  std::uint64_t bytes_ = 0;
  std::uint64_t used_ = 0;
};

/// Zeroed, mapped for all GPUs.
inline Result<PinnedMemory> take_pinned(std::uint64_t bytes) {
  void* memory = nullptr;
  if (auto taken = cuda_result(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "taking memory that GPUs can read"); !taken)
    return taken.error();
  std::fill_n(static_cast<unsigned char*>(memory), bytes, static_cast<unsigned char>(0));
  return PinnedMemory(memory);
}

}  // namespace rondo

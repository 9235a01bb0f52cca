// The functions of CUDA's runtime that Rondo calls, on a made-up GPU: with them in the place of CUDA's, what drives a GPU is tested where there is none.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "made_up_gpu/arena.hpp"
#include "made_up_gpu/streams.hpp"

using namespace rondo::test::made_up;

namespace {

constexpr int processors = 4;
Event& event_of(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t error) { return error == cudaSuccess ? "cudaSuccess" : "cudaErrorMadeUp"; }
const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "a made-up GPU's error"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpu_count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_gpu();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpu_count()) return cudaErrorInvalidDevice;
  current_gpu() = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = cudaDeviceProp{};
  std::snprintf(properties->name, sizeof properties->name, "made-up GPU");
  properties->multiProcessorCount = processors;
  properties->uuid.bytes[0] = static_cast<char>(1 + device);
  properties->pciBusID = 6 + device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1000;  // of clocks and widths; nothing else is asked
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* may, int, int) {
  *may = gpus_are_apart() ? 0 : 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = take_memory(current_gpu(), bytes);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  synchronize_all();  // as a real one does
  give_back(static_cast<std::byte*>(memory));
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  stream_of(stream).enqueue({[=] { give_back(static_cast<std::byte*>(memory)); }});
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void** reached, void* memory, unsigned) {
  *reached = memory;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  *attributes = {};
  attributes->device = gpu_of(memory);
  attributes->type = attributes->device >= 0 ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  std::memcpy(memory, handle.reserved, sizeof *memory);
  return gpus_are_apart() && gpu_of(*memory) != current_gpu() ? cudaErrorPeerAccessUnsupported : cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void*) { return cudaSuccess; }

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  stream_of(stream).enqueue({[=] { std::memcpy(to, from, bytes); }});
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(&make_stream(current_gpu()));
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  destroy_stream(*reinterpret_cast<Stream*>(stream));
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream_of(stream).synchronize();
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  synchronize_all();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  stream_of(stream).enqueue({event_of(event).waiting()});
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream_of(stream).captures() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream_of(stream).begin_capture();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(new Tasks(stream_of(stream).end_capture()));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  *ready = reinterpret_cast<cudaGraphExec_t>(new Tasks(*reinterpret_cast<Tasks*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
  for (const auto& task : *reinterpret_cast<Tasks*>(ready)) stream_of(stream).enqueue(task);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) {
  delete reinterpret_cast<Tasks*>(ready);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Tasks*>(graph);
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Event*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event_of(event).record(stream_of(stream));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return event_of(event).passed() ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  event_of(event).waiting()();
  return cudaSuccess;
}

/// What the made-up driver (driver.c) calls for cuStreamWaitValue64.
__attribute__((visibility("default"))) int rondo_made_up_wait_value(cudaStream_t stream, const std::uint64_t* word, std::uint64_t value) {
  stream_of(stream).enqueue({[=] {
    while (static_cast<std::int64_t>(std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire) - value) < 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }});
  return 0;
}

}  // extern "C"

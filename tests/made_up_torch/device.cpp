// The made-up GPU as a device of torch's: its guard, streams, events, and what torch asks of accelerators.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "memory.hpp"
#include "streams.hpp"

namespace made_up_torch {
namespace {

constexpr std::size_t most_gpus = 4, pool_size = 4;

void check(cudaError_t status) { TORCH_CHECK(status == cudaSuccess, "the made-up GPU says ", static_cast<int>(status)); }

/// Of a GPU, made when they are first asked for: threads that serve them don't outlive a fork.
struct GpuStreams {
  std::once_flag made;
  std::array<cudaStream_t, 1 + pool_size> all{};  ///< the default one first
  std::atomic<std::size_t> next{0};
};

GpuStreams& streams_of(c10::DeviceIndex gpu) {
  static auto& all = *new std::array<GpuStreams, most_gpus>;
  GpuStreams& streams = all.at(static_cast<std::size_t>(gpu));
  std::call_once(streams.made, [&] {
    const int before = current_device();
    check(cudaSetDevice(gpu));
    for (cudaStream_t& stream : streams.all) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cudaSetDevice(before));
  });
  return streams;
}

c10::Stream stream_named(c10::DeviceIndex gpu, c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kPrivateUse1, gpu), id); }

/// By GPU.
std::array<c10::StreamId, most_gpus>& current_streams() {
  thread_local std::array<c10::StreamId, most_gpus> ids{};
  return ids;
}

c10::DeviceIndex gpu_of(const c10::Device& device) { return device.has_index() ? device.index() : current_device(); }

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::kPrivateUse1; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return c10::Device(c10::kPrivateUse1, current_device()); }
  void setDevice(c10::Device device) const override { check(cudaSetDevice(gpu_of(device))); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { (void)cudaSetDevice(device.index()); }
  c10::DeviceIndex deviceCount() const noexcept override {
    int count = 0;
    (void)cudaGetDeviceCount(&count);
    return static_cast<c10::DeviceIndex>(count);
  }

  c10::Stream getStream(c10::Device device) const override { return current_stream(gpu_of(device)); }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream_named(gpu_of(device), 0); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getNewStream(device, 0); }
  c10::Stream getNewStream(c10::Device device, int) const override {
    const c10::DeviceIndex gpu = gpu_of(device);
    return stream_named(gpu, static_cast<c10::StreamId>(1 + streams_of(gpu).next++ % pool_size));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = current_stream(stream.device_index());
    current_streams().at(static_cast<std::size_t>(stream.device_index())) = stream.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return handle_of(stream); }
  bool queryStream(const c10::Stream& stream) const override {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    check(cudaEventRecord(event, handle_of(stream)));
    const bool passed = cudaEventQuery(event) == cudaSuccess;
    check(cudaEventDestroy(event));
    return passed;
  }
  void synchronizeStream(const c10::Stream& stream) const override { check(cudaStreamSynchronize(handle_of(stream))); }
  void synchronizeDevice(const c10::DeviceIndex) const override { check(cudaDeviceSynchronize()); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override { use_on_stream(data, stream); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    auto made = static_cast<cudaEvent_t>(*event);
    if (made == nullptr) check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    check(cudaEventRecord(made, handle_of(stream)));
    *event = made;
  }
  void block(void* event, const c10::Stream& stream) const override { check(cudaStreamWaitEvent(handle_of(stream), static_cast<cudaEvent_t>(event), 0)); }
  bool queryEvent(void* event) const override { return event == nullptr || cudaEventQuery(static_cast<cudaEvent_t>(event)) == cudaSuccess; }
  void synchronizeEvent(void* event) const override { check(cudaEventSynchronize(static_cast<cudaEvent_t>(event))); }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { (void)cudaEventDestroy(static_cast<cudaEvent_t>(event)); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  at::DeviceIndex deviceCount() const override { return Guard().deviceCount(); }
  at::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(at::DeviceIndex device) const override { check(cudaSetDevice(device)); }
  at::Device getDeviceFromPtr(void* data) const override {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, data));
    return c10::Device(c10::kPrivateUse1, static_cast<c10::DeviceIndex>(attributes.device));
  }
  bool isPinnedPtr(const void*) const override { return true; }  // the made-up runtime copies all alike
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetAllocator(c10::kCPU); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    const c10::DeviceGuard on(storage.device());
    c10::DataPtr larger = memory().allocate(bytes);
    if (bytes != 0 && storage.nbytes() != 0) {
      synchronize();
      std::memcpy(larger.get(), storage.data(), std::min(bytes, storage.nbytes()));
    }
    storage.set_data_ptr_noswap(std::move(larger));
    storage.set_nbytes(bytes);
  }
};

const bool registered = [] {
  c10::SetAllocator(c10::kPrivateUse1, &memory());
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

cudaStream_t handle_of(const c10::Stream& stream) { return streams_of(stream.device_index()).all.at(static_cast<std::size_t>(stream.id())); }
c10::Stream current_stream() { return current_stream(current_device()); }
c10::Stream current_stream(c10::DeviceIndex gpu) { return stream_named(gpu, current_streams().at(static_cast<std::size_t>(gpu))); }

c10::DeviceIndex current_device() {
  int gpu = 0;
  check(cudaGetDevice(&gpu));
  return static_cast<c10::DeviceIndex>(gpu);
}

void synchronize() { check(cudaStreamSynchronize(handle_of(current_stream()))); }

}  // namespace made_up_torch

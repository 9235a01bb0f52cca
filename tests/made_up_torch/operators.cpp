// Torch's operators on the made-up GPU. Copies between its tensors are enqueued on the current stream, as a GPU's are; all else is done by the processor's
// operators on copies, for which the host waits.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "made_up_gpu/streams.hpp"
#include "memory.hpp"
#include "streams.hpp"

namespace rondo::test {
void fill_gpu(cudaStream_t stream, std::uint64_t nanoseconds);
}

namespace made_up_torch {
namespace {

constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard on(device);
  return at::detail::empty_generic(size, &memory(), keys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard on(device);
  return at::detail::empty_strided_generic(size, stride, &memory(), keys, c10::dtype_or_default(type));
}

/// The same memory, which the processor can read and write.
at::Tensor seen_by_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  if (from.numel() == 0) return to;
  const c10::OptionalDeviceGuard on((from.is_cpu() ? to : from).device());
  const at::Tensor source = seen_by_host(from.expand(to.sizes())), destination = seen_by_host(to);
  const auto copy = [source, destination] {
    const c10::InferenceMode plain;
    destination.copy_(source);
  };
  if (!from.is_cpu() && !to.is_cpu()) {
    rondo::test::made_up::stream_of(handle_of(current_stream())).enqueue({copy});
  } else {
    synchronize();
    copy();
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size) { return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size)); }
at::Tensor as_strided(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<std::int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}
at::Tensor reshape_alias(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride) { return at::native::_reshape_alias(self, size, stride); }

const at::Tensor& resize(const at::Tensor& self, c10::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  synchronize();
  return at::native::resize_(self, size, format);
}

at::Tensor& set_storage(at::Tensor& self, at::Storage storage, std::int64_t offset, c10::IntArrayRef size, c10::IntArrayRef stride) {
  return at::native::set_storage_cpu_(self, std::move(storage), offset, size, stride);
}

void record_stream(at::Tensor& self, c10::Stream stream) { use_on_stream(self.storage().data_ptr(), stream); }

void by_processor(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

/// Holds the current stream of a GPU up.
void delay(at::Device device, std::int64_t milliseconds) {
  rondo::test::fill_gpu(handle_of(current_stream(device.index())), static_cast<std::uint64_t>(milliseconds) * 1'000'000);
}

}  // namespace
}  // namespace made_up_torch

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&made_up_torch::by_processor>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", TORCH_FN(made_up_torch::empty));
  library.impl("empty_strided", TORCH_FN(made_up_torch::empty_strided));
  library.impl("_copy_from", TORCH_FN(made_up_torch::copy_from));
  library.impl("_copy_from_and_resize", TORCH_FN(made_up_torch::copy_from_and_resize));
  library.impl("view", TORCH_FN(made_up_torch::view));
  library.impl("as_strided", TORCH_FN(made_up_torch::as_strided));
  library.impl("_reshape_alias", TORCH_FN(made_up_torch::reshape_alias));
  library.impl("resize_", TORCH_FN(made_up_torch::resize));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(made_up_torch::set_storage));
  library.impl("record_stream", TORCH_FN(made_up_torch::record_stream));
}

TORCH_LIBRARY(made_up, library) {
  library.def("delay(Device device, int milliseconds) -> ()", &made_up_torch::delay);
  library.def("device_count() -> int", [] { return static_cast<std::int64_t>(c10::impl::getDeviceGuardImpl(c10::kPrivateUse1)->deviceCount()); });
}

#include "device_work.hpp"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <thread>
#include <utility>

namespace rondo_torch {
namespace {

constexpr std::chrono::microseconds between_looks(50);

}  // namespace

DeviceWork::DeviceWork(Operation operation, const DeviceCall& call)
    : Work(operation.id.rank, operation.id.kind->type, at::hasCallbacks() ? operation.title() : nullptr, shown(operation)), operation_(std::move(operation)),
      group_(call.group()), stream_(call.stream()), end_(stream_.device_type()) {
  operation_.copy_out();
  if (call.on_own_stream()) {
    const at::AutoDispatchBelowAutograd below;
    for (const auto* tensors : {&operation_.inputs, &operation_.outputs})
      for (const at::Tensor& tensor : *tensors) tensor.record_stream(stream_);
  }
  end_.record(stream_);
  operation_.inputs.clear();
  operation_.room.clear();
  operation_.copies.clear();
  finish();  // for torch's profiler
}

std::exception_ptr DeviceWork::exception() const { return ended_well_ ? nullptr : group_->failure(operation_.describe()); }

void DeviceWork::throw_failed() const {
  if (const std::exception_ptr failed = exception()) std::rethrow_exception(failed);
}

bool DeviceWork::isCompleted() {
  if (ended_well_) return true;
  const bool ended = end_.query();
  if (exception()) return true;
  if (ended) ended_well_ = true;
  return ended;
}

bool DeviceWork::wait(std::chrono::milliseconds timeout) {
  throw_failed();
  const c10::impl::VirtualGuardImpl streams(stream_.device_type());
  end_.block(streams.getStream(stream_.device()));
  if (timeout != kNoTimeout) {
    for (const auto deadline = std::chrono::steady_clock::now() + timeout; !isCompleted(); std::this_thread::sleep_for(between_looks))
      if (std::chrono::steady_clock::now() >= deadline) throw_unended(operation_, timeout);
  } else if (opType_ == c10d::OpType::BARRIER) {
    end_.synchronize();
  } else {
    return true;
  }
  throw_failed();
  return true;
}

void DeviceWork::abort() { refuse_abort(); }

c10::intrusive_ptr<c10::ivalue::Future> DeviceWork::getFuture() {
  const std::lock_guard lock(future_mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{stream_.device()});
  const c10::StreamGuard on(stream_);  // it takes down how far this stream has come
  if (const auto failed = exception()) future_->setError(failed);
  else future_->markCompleted(c10::IValue(operation_.outputs));
  return future_;
}

}  // namespace rondo_torch

#include "hook.hpp"

#include <c10/util/Exception.h>

namespace rondo_torch {

Hook::Hook(c10::intrusive_ptr<Backend> backend, std::optional<at::ScalarType> wire, bool error_feedback)
    : backend_(std::move(backend)), wire_(wire), error_feedback_(error_feedback) {}

/// DDP makes its buckets anew after the first step, in the order in which gradients came: one with other parameters has lost nothing yet.
void Hook::add_what_was_lost(c10d::GradBucket& bucket) {
  const at::AutoDispatchBelowAutograd below;
  at::Tensor& gradients = bucket.getBufferRef();
  std::vector<const void*> parameters;
  for (const at::Tensor& parameter : bucket.getParameters()) parameters.push_back(parameter.unsafeGetTensorImpl());
  Lost& lost = lost_[bucket.getIndex()];
  if (lost.parameters == parameters) gradients.add_(lost.values);
  // what overflows is told by the result; it must not come back with every step
  lost = {(gradients - gradients.to(*wire_).to(gradients.scalar_type())).nan_to_num_(0, 0, 0), std::move(parameters)};
}

c10::intrusive_ptr<c10::ivalue::Future> Hook::runHook(c10d::GradBucket& bucket) {
  at::Tensor& gradients = bucket.getBufferRef();
  if (gradients.scalar_type() != at::kFloat || !wire_) return backend_->average(gradients, std::nullopt)->getFuture();
  if (error_feedback_ && backend_->getSize() > 1) add_what_was_lost(bucket);
  return backend_->average(gradients, wire_)->getFuture();
}

}  // namespace rondo_torch

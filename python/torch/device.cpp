#include "device.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <utility>

namespace rondo_torch {

void DeviceGroup::check(const CallId& id, c10::Device device) const {
  TORCH_CHECK_VALUE(device.type() == accepted_, "rondo: ", id, ": a tensor is on ", device, "; accepted: cpu", accepted_ ? c10::str(", ", *accepted_) : "");
  TORCH_CHECK_NOT_IMPLEMENTED(is_built(), "rondo: ", id, " on ", device, ", but rondo-ccl was built without CUDA; build it with CUDA, from its sources: "
                              "pip install . --config-settings=cmake.define.RONDO_CUDA=ON");
}

std::unique_ptr<DeviceCall> DeviceGroup::begin(const CallId& id, c10::Device device, bool async, Group& group) {
  const std::lock_guard lock(mutex_);
  if (communicator_ == nullptr) make(id, device, group);
  TORCH_CHECK_VALUE(device == *device_, "rondo: ", id, " on ", device, ", where this group's calls so far are on ", *device_, "; accepted: one device a rank");
  const c10::impl::VirtualGuardImpl streams(device.type());
  const c10::Stream callers = streams.getStream(device);
  if (!async) return std::make_unique<DeviceCall>(shared_from_this(), callers, callers);
  if (!own_stream_) {
    own_stream_ = streams.getStreamFromGlobalPool(device);
    callers_so_far_.emplace(device.type());
  }
  callers_so_far_->record(callers);
  callers_so_far_->block(*own_stream_);
  return std::make_unique<DeviceCall>(shared_from_this(), *own_stream_, callers);
}

bool DeviceGroup::has_begun() {
  const std::lock_guard lock(mutex_);
  return communicator_ != nullptr;
}

void DeviceGroup::make(const CallId& id, c10::Device device, Group& group) {
  rondo_cuda_options options{};
  options.size = sizeof options;
  options.timeout_seconds = std::chrono::duration<double>(group.timeout()).count();
  rondo_cuda_communicator* made = nullptr;
  const rondo_status status = rondo_cuda_create(group.communicator(id), device.index(), &options, &made);
  if (status != RONDO_SUCCESS) throw_failure(status, c10::str(id, " on ", device));
  device_ = device;
  const std::lock_guard lock(lifetime_);
  communicator_ = made;
}

std::exception_ptr DeviceGroup::failure(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (communicator_ == nullptr) return nullptr;
  const rondo_status status = rondo_cuda_check(communicator_);
  if (status == RONDO_SUCCESS) return nullptr;
  try {
    throw_failure(status, what);
  } catch (...) {
    return std::current_exception();
  }
}

void DeviceGroup::abort() {
  const std::lock_guard lock(lifetime_);
  if (communicator_ != nullptr) (void)rondo_cuda_abort(communicator_);
}

void DeviceGroup::close() {
  const std::lock_guard lock(mutex_);
  rondo_cuda_communicator* left = nullptr;
  {
    const std::lock_guard ends(lifetime_);
    left = std::exchange(communicator_, nullptr);
  }
  rondo_cuda_destroy(left);
}

}  // namespace rondo_torch

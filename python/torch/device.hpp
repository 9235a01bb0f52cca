// A process group's calls on tensors in the memory of devices: the library's communicator for them, and torch's streams. What torch calls a device's stream
// is looked up through c10's interface for all kinds of devices, so that nothing here needs the device's own headers.
#pragma once

#include <rondo/rondo_cuda.h>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "group.hpp"

namespace rondo_torch {

class DeviceGroup;

/// While it lives a call is being enqueued: what this thread enqueues goes to the call's stream. That is its caller's current one, or one of the group's own,
/// which has waited for the caller's.
class DeviceCall {
 public:
  DeviceCall(std::shared_ptr<DeviceGroup> group, const c10::Stream& stream, const c10::Stream& callers)
      : group_(std::move(group)), guard_(stream), callers_(callers) {}
  const std::shared_ptr<DeviceGroup>& group() const { return group_; }
  c10::Stream stream() const { return guard_.current_stream(); }
  /// Whether others than the stream that the call's tensors are known to be used on touch them.
  bool on_own_stream() const { return stream() != callers_; }

 private:
  const std::shared_ptr<DeviceGroup> group_;
  const c10::StreamGuard guard_;
  const c10::Stream callers_;
};

/// A group's rondo_cuda_communicator and its stream. Both come with the group's first call on tensors of a device, which all ranks make at the same place in
/// their order of calls. Thread-safe; always shared.
class DeviceGroup : public std::enable_shared_from_this<DeviceGroup> {
 public:
  /// `accepted`: the kind of devices that torch hands tensors of over, beside the processor, if any.
  explicit DeviceGroup(std::optional<c10::DeviceType> accepted) : accepted_(accepted) {}
  ~DeviceGroup() { close(); }
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  /// Whether the library was built with what such calls take.
  static bool is_built() { return *rondo_cuda_version() != '\0'; }

  /// Throws ValueError of a device that isn't of the accepted kind, NotImplementedError where !is_built().
  void check(const CallId& id, c10::Device device) const;
  /// Begins a call on tensors of `device`, which was checked. Throws ValueError (it isn't that of the group's calls so far), and what making a communicator
  /// meets.
  std::unique_ptr<DeviceCall> begin(const CallId& id, c10::Device device, bool async, Group& group);
  /// Whether there has been such a call.
  bool has_begun();

  /// Runs `call` with the communicator, whose timeout is that one from then on: one thread at a time. Returns its status.
  template <class Call>
  rondo_status with_communicator(std::chrono::milliseconds timeout, const Call& call) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(timeout_, timeout) != timeout) (void)rondo_cuda_set_timeout(communicator_, std::chrono::duration<double>(timeout).count());
    return call(communicator_);
  }
  /// What the calls so far have met, if anything, after `what`; never blocks.
  std::exception_ptr failure(const std::string& what);
  void abort();
  std::optional<c10::DeviceType> accepted() const { return accepted_; }
  /// Leaves the group: waits for calls under way, and for the peers, 10 s at most each.
  void close();

 private:
  void make(const CallId& id, c10::Device device, Group& group);

  const std::optional<c10::DeviceType> accepted_;
  std::mutex mutex_;  ///< for all below
  std::mutex lifetime_;  ///< for the communicator's beginning and end, as abort() can't wait for calls
  rondo_cuda_communicator* communicator_ = nullptr;
  std::chrono::milliseconds timeout_{0};  ///< of the call before
  std::optional<c10::Device> device_;
  std::optional<c10::Stream> own_stream_;
  std::optional<c10::Event> callers_so_far_;  ///< recorded anew by each call
};

}  // namespace rondo_torch

// One operation on tensors in the memory of a device, as torch sees it.
#pragma once

#include <c10/core/Event.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "device.hpp"
#include "work.hpp"

namespace rondo_torch {

/// It is enqueued when whoever made it returns, and ends when its stream has come past it. wait() has the caller's current stream wait, not the caller, unless
/// it is given a time, or of a barrier. As with NCCL's backend its future is complete at once, for others that go on on streams.
class DeviceWork final : public c10d::Work {
 public:
  /// What has been enqueued on the stream of `call` so far is the operation. Its tensors may be freed from here on.
  DeviceWork(Operation operation, const DeviceCall& call);

  bool isCompleted() override;
  bool isSuccess() const override { return ended_well_ || (end_.query() && !exception()); }
  std::exception_ptr exception() const override;
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  std::vector<at::Tensor> result() override { return operation_.outputs; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return operation_.id.sequence; }

 private:
  void throw_failed() const;

  Operation operation_;  ///< what is left of it: its outputs
  const std::shared_ptr<DeviceGroup> group_;
  const c10::Stream stream_;
  c10::Event end_;
  std::atomic<bool> ended_well_{false};  ///< seen: what fails later isn't its
  std::mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  ///< made for whoever asks
};

}  // namespace rondo_torch

// What a thread calls of a group between torch's startCoalescing() and endCoalescing(): messages of a device's tensors, which go out together, and the works
// of everything else.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "arguments.hpp"

namespace rondo_torch {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

/// One end of a message of a tensor in a device's memory.
struct DeviceMessage {
  CallId id;
  at::Tensor tensor;
  bool sends = false;  ///< to `peer`; else it is received from there
  int peer = 0;
};

/// Thread-safe; open for the thread that began it alone.
class Batch {
 public:
  struct Content {
    std::vector<DeviceMessage> messages;
    std::vector<WorkPointer> works;
  };

  /// What an earlier one has is forgotten: torch doesn't end it when a call in it throws.
  void begin();
  /// Whether it takes what this thread calls.
  bool is_open() const { return opener_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  void add(const DeviceMessage& message);
  void add(WorkPointer work);
  /// Takes down a work of this thread's; where it isn't open that costs a comparison.
  template <class Work>
  void note(const c10::intrusive_ptr<Work>& work) {
    if (is_open()) add(WorkPointer(work));
  }
  /// Ends it. Throws ValueError unless this thread has begun it.
  Content end();

 private:
  std::atomic<std::thread::id> opener_{};  ///< nobody's: closed
  std::mutex mutex_;
  Content content_;
};

/// Ends when all its parts have, with the first failure among them.
class CoalescedWork final : public c10d::Work {
 public:
  CoalescedWork(int rank, std::vector<WorkPointer> parts);
  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  const std::vector<WorkPointer> parts_;
};

}  // namespace rondo_torch

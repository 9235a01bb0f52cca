// One operation as torch sees it.
#pragma once

#include <rondo/rondo.h>
#include <sys/types.h>

#include <c10/util/SmallVector.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "device.hpp"
#include "group.hpp"

namespace rondo_torch {

/// What is known of an operation before it runs.
struct Operation {
  CallId id;
  bool for_gloo = false;               ///< of a group that says it is Gloo's
  std::vector<at::Tensor> inputs;      ///< kept alive until it has ended
  std::vector<at::Tensor> outputs;     ///< likewise; Work::result() and the future's value
  std::vector<at::Tensor> room = {};   ///< likewise: contiguous copies
  std::vector<std::pair<at::Tensor, at::Tensor>> copies = {};  ///< what is left to do when the library has done its part: each first one into its second
  std::vector<std::vector<void*>> lists = {};  ///< likewise: where tensors lie that calls take one by one
  int peer = -1;                       ///< of a message
  std::unique_ptr<DeviceCall> on = {};  ///< while one on tensors of a device is made and enqueued; null: they are the processor's

  /// A tensor itself if its elements follow one another in memory, else a contiguous copy, which is kept.
  at::Tensor given(const at::Tensor& tensor);
  /// The same for one that gets a result, which goes from the copy (`filled`), or from room for one, into the tensor in the end.
  at::Tensor received(const at::Tensor& tensor, bool filled = false);
  void copy_out() const;
  const char* title() const { return for_gloo ? id.kind->title_for_gloo : id.kind->title; }
  /// "all_reduce #7 on rank 0 of [4, 3] Float": for errors.
  std::string describe() const;
};

/// The tensors that torch's profiler shows, when it is on.
std::optional<std::vector<at::Tensor>> shown(const Operation& operation);
/// Throws DistBackendError in the words that programs look for.
[[noreturn]] void throw_unended(const Operation& operation, std::chrono::milliseconds timeout);
/// Throws RuntimeError: a group is aborted as a whole.
[[noreturn]] void refuse_abort();

class RondoWork final : public c10d::Work {
 public:
  explicit RondoWork(Operation operation);
  ~RondoWork() override;

  /// The operation has been done by the caller.
  void done();
  /// The library does it from here on, in one or more parts, which are owned. It is one of `in_flight` until all of them have ended.
  using Parts = c10::SmallVector<rondo_work*, 1>;
  void follow(Parts parts, std::shared_ptr<InFlight> in_flight);
  /// Somebody else does it from here on. It is one of `in_flight` until they have called end(), once, from any thread.
  void begin(std::shared_ptr<InFlight> in_flight);
  /// It has been done, or has failed: everybody is told.
  void end(std::exception_ptr failure);

  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  std::vector<at::Tensor> result() override { return operation_.outputs; }
  int sourceRank() const override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return operation_.id.sequence; }
  const CallId& id() const { return operation_.id; }
  std::string describe() const { return operation_.describe(); }

 private:
  struct Part;
  static void ended(void* context);
  void conclude(std::exception_ptr exception);

  Operation operation_;
  Parts parts_;                     ///< what the library has started
  std::size_t left_ = 0;            ///< of them, how many have not ended; under future_mutex_
  std::exception_ptr failure_;      ///< of the first part that failed; under future_mutex_
  std::shared_ptr<InFlight> in_flight_;
  pid_t process_ = 0;               ///< that has begun it
  std::mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  ///< made for whoever asks
  bool concluded_ = false;                          ///< it has ended, and a future made from here on is complete at once
};

}  // namespace rondo_torch

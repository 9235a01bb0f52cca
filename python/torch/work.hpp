// One operation as torch sees it.
#pragma once

#include <rondo/rondo.h>

#include <chrono>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "group.hpp"

namespace rondo_torch {

/// What is known of an operation before it runs.
struct Operation {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "";              ///< in torch's profiler: "rondo:all_reduce"
  int rank = 0;
  std::uint64_t sequence = 0;          ///< in the group, from 1 on; 0: it isn't counted
  std::vector<at::Tensor> inputs;      ///< kept alive until it has ended
  std::vector<at::Tensor> outputs;     ///< likewise; Work::result() and the future's value
  std::vector<at::Tensor> room = {};   ///< likewise: contiguous copies
  std::vector<std::pair<at::Tensor, at::Tensor>> copies = {};  ///< what is left to do when the library has done its part: each first one into its second

  /// A tensor itself if its elements follow one another in memory, else a contiguous copy, which is kept.
  at::Tensor given(const at::Tensor& tensor);
  /// The same for one that gets a result, which goes from the copy (`filled`), or from room for one, into the tensor in the end.
  at::Tensor received(const at::Tensor& tensor, bool filled = false);
  void copy_out() const;
  /// "all_reduce #7 on rank 0 of [4, 3] Float": for errors.
  std::string describe() const;
};

class RondoWork final : public c10d::Work {
 public:
  explicit RondoWork(Operation operation);
  ~RondoWork() override;

  /// The operation has been done by the caller.
  void done();
  /// The library does it from here on: `started` is owned. It is one of `in_flight` until it has ended.
  void follow(rondo_work* started, std::shared_ptr<InFlight> in_flight);

  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  std::vector<at::Tensor> result() override { return operation_.outputs; }
  int sourceRank() const override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return operation_.sequence; }
  std::string describe() const { return operation_.describe(); }

 private:
  static void ended(void* context);
  void conclude(std::exception_ptr exception);

  Operation operation_;
  rondo_work* started_ = nullptr;
  std::shared_ptr<InFlight> in_flight_;
  std::mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  ///< made for whoever asks
  bool concluded_ = false;                          ///< it has ended, and a future made from here on is complete at once
};

}  // namespace rondo_torch

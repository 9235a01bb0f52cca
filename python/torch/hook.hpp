// What DistributedDataParallel does with a bucket of gradients, without the interpreter's lock.
#pragma once

#include <map>
#include <optional>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "backend.hpp"

namespace rondo_torch {

/// Averages a bucket over the ranks in one pass, by way of a narrower type if asked to. Runs on the thread that ends the bucket's backward, which it doesn't
/// hold up: buckets are reduced by the progress thread.
class Hook final : public c10d::CommHookInterface {
 public:
  /// `wire`: what ranks read of one another's float gradients, half or bfloat16; nothing: what they are. `error_feedback`: what a contribution loses by
  /// its rounding is added to the next one of the same bucket (Seide et al., "1-bit stochastic gradient descent", 2014).
  Hook(c10::intrusive_ptr<Backend> backend, std::optional<at::ScalarType> wire, bool error_feedback);

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensorVector().front(); }

 private:
  void add_what_was_lost(c10d::GradBucket& bucket);

  /// By rounding, of a bucket with these parameters in this order.
  struct Lost {
    at::Tensor values;
    std::vector<const void*> parameters;
  };

  const c10::intrusive_ptr<Backend> backend_;
  const std::optional<at::ScalarType> wire_;
  const bool error_feedback_;
  std::map<std::size_t, Lost> lost_;  ///< by bucket
};

}  // namespace rondo_torch

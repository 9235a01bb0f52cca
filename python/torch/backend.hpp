// Torch's process groups on the library's communicators: c10d::Backend over rondo.h.
#pragma once

#include <atomic>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "device.hpp"
#include "elements.hpp"
#include "group.hpp"
#include "pairs.hpp"
#include "sparse.hpp"
#include "work.hpp"

namespace rondo_torch {

/// Options that lie in memory as those of ProcessGroupGloo do: see Backend::unused_.
struct GlooLikeOptions : c10d::Backend::Options {
  using c10d::Backend::Options::Options;
  std::vector<std::shared_ptr<void>> devices;  ///< none
  int threads = 2;                             ///< as many as Gloo says that it has
};

/// The backend "rondo". Methods are c10d's; each is a call of the library. Operations with asyncOp run on the library's progress thread, or in
/// whoever waits for them; others in the calling thread before the method returns.
/// Errors: ValueError and TypeError of arguments, at once; DistBackendError of what happens later, from the method or from the work.
class Backend final : public c10d::Backend {
 public:
  /// `for_gloo`: the group goes on saying that it is Gloo's. `device`: what kind of tensors it takes beside the processor's, if any.
  Backend(const GroupOptions& options, std::vector<std::int64_t> global_ranks, bool for_gloo, std::optional<c10::DeviceType> device);
  /// What is left of a group.
  Backend(const Backend& of, const Group::Left& left);
  ~Backend() override;

  const std::string getBackendName() const override { return "rondo"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return c10::static_intrusive_pointer_cast<Options>(options_); }
  void setTimeout(std::chrono::milliseconds timeout) override;
  void abort() override;
  void shutdown() override;
  bool supportsShrinking() const override { return true; }
  c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<std::int64_t>& excluded, int flags, const c10::intrusive_ptr<Options>& options) override;
  /// The ranks that have gone. The first time an agreement of those that are left, which must all come here, or to shrink(); the group is over with it.
  std::vector<std::int64_t> lost_ranks();
  /// What the first of those that are left says, to all of them, between lost_ranks() and shrink(); 255 characters at most. Throws DistBackendError.
  std::string told_by_first(const std::string& text);
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_.load(std::memory_order_relaxed); }

  /// Of the processor's memory what the group's ranks map (rondo_allocate), for collectives that then read and write it where it is; torch's own where that
  /// can't be had, which differs between ranks without harm. Zeroed. Of a device's torch's own. It may outlive the group. Throws DistBackendError: the group
  /// is over.
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;
  bool supportsTensorAlloc(c10::DeviceIndex) override { return true; }

  // reductions.cpp
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  /// Starts the average of all ranks' tensors, in place; of floats by way of `wire`, half or bfloat16, if it is given.
  WorkPointer average(const at::Tensor& tensor, std::optional<at::ScalarType> wire);
  WorkPointer reduce_on_device(Operation operation, const rondo_bucket& bucket, std::chrono::milliseconds timeout);
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPointer reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) override;
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override;

  // moves.cpp
  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPointer scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits, std::vector<std::int64_t>& input_splits,
                            const c10d::AllToAllOptions& options) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;

  // messages.cpp
  WorkPointer send(Tensors& tensors, int to, int tag) override;
  WorkPointer recv(Tensors& tensors, int from, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;
  /// As torch's batch_isend_irecv asks: of tensors of a device messages in both directions have to go out together. A group without a device goes on to give
  /// a work for each message.
  bool supportsCoalescing() const override { return device_->accepted().has_value(); }
  void startCoalescing() override { batch_.begin(); }
  /// The work of all that this thread has called since.
  WorkPointer endCoalescing() override;
  WorkPointer barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_for_all) override;

 private:
  struct Timing {
    std::chrono::milliseconds timeout;
    bool async;
  };
  template <class TorchOptions>
  static Timing timing(const TorchOptions& options) {
    return {options.timeout, options.asyncOp};
  }

  /// Made when it is first asked for.
  SparseSums& sparse_sums();
  /// Nothing: nobody has asked yet.
  SparseSums* made_sparse_sums();
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(size_); }
  /// What the next call of this group is, if its arguments make sense.
  CallId next(const Kind& kind) const;
  /// They do: the call has its place in the group's order. On tensors of a device it is begun there, for which `async` says on what stream.
  Operation operation(const CallId& id, Tensors inputs, Tensors outputs, bool async);
  /// The same of one without tensors.
  Operation operation(const CallId& id);
  /// Runs calls of the library, one after the other, or starts them. The operation has ended when all of them have. Null where they have been run: torch asks
  /// for no work then (opts.asyncOp), but for its profiler's sake.
  WorkPointer run(Operation operation, at::ArrayRef<rondo_call> calls, Timing timing);
  /// An operation on tensors of a device, which was begun there: `enqueue` enqueues it, by a communicator on a stream, and returns a status.
  template <class Enqueue>
  WorkPointer run_on_device(Operation operation, std::chrono::milliseconds timeout, const Enqueue& enqueue);
  /// Messages between any ranks, by the group's communicator on the device, or by a pair's between two.
  WorkPointer exchange(const CallId& id, at::ArrayRef<DeviceMessage> messages, Pair* pair = nullptr);
  /// One that is sent or received by itself, or goes to the batch: then null.
  WorkPointer exchange_one(const DeviceMessage& message);
  /// The same for what isn't a rondo_call: `now` runs its next part, `later` starts it. In the processor's memory alone.
  template <class Now, class Later>
  WorkPointer run(Operation operation, Timing timing, const Now& now, const Later& later, std::size_t parts = 1);
  template <class Later>
  WorkPointer start(Operation operation, const Later& later, std::size_t parts = 1);

  /// Together with options_ what ProcessGroupGloo has in this place. DDP's logger takes every backend of a group that calls itself Gloo's for one, by
  /// static_cast, and asks its options for their threads (torch/csrc/distributed/c10d/logger.cpp); taken over groups do. These two stay the first.
  const std::shared_ptr<void> unused_;
  const c10::intrusive_ptr<GlooLikeOptions> options_;
  Group group_;
  std::mutex shrink_mutex_;
  std::optional<Group::Left> left_;  ///< under shrink_mutex_, once agreed on
  std::mutex sparse_mutex_;
  std::unique_ptr<SparseSums> sparse_;  ///< under sparse_mutex_, once made for good
  const std::shared_ptr<DeviceGroup> device_;  ///< shared with works, which may outlive this
  Pairs pairs_;
  Batch batch_;
  const bool for_gloo_;
  std::atomic<std::uint64_t> sequence_{0};
};

}  // namespace rondo_torch

// The communicator: a group of ranks that run collectives together. C++ face of the library; rondo.h is the C one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/plan.hpp"
#include "rondo/result.hpp"
#include "rondo/topology.hpp"
#include "rondo/types.hpp"

namespace rondo {

/// The version of the library this program runs with: major·10000 + minor·100 + patch.
int version();

struct CommunicatorOptions {
  std::chrono::nanoseconds timeout = std::chrono::minutes(30);           ///< deadline of each operation
  std::chrono::nanoseconds bootstrap_timeout = std::chrono::minutes(5);  ///< deadline of creation
  std::string algorithm;  ///< force this algorithm wherever it can serve; empty: the cost model chooses
  std::string transport;  ///< "shm" or "ucx"; empty: the first that can serve all pairs
};

/// One collective call. Buffers belong to the caller and must stay valid and untouched until the call (or its Work) ends.
/// `count` is elements per block: what NCCL calls count, sendcount (all_gather) or recvcount (reduce_scatter).
struct Call {
  Collective collective = Collective::all_reduce;
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::uint32_t root = 0;   ///< broadcast, reduce: the root; send_recv: unused
  double scale = 1;         ///< premul_sum: this rank's factor (integers use its truncation)
};

class Work;

/// One rank of a group. Movable; destroying it leaves the group (peers that still call it get peer_failed).
/// Threads: one communicator may be used by several threads, one call at a time each; calls on one communicator must come
/// in the same order on all ranks. Different communicators are independent. abort() may come from any thread.
class Communicator {
 public:
  /// `n` ranks in this process, for n threads: element r is rank r's. Blocks for some milliseconds.
  static Result<std::vector<Communicator>> in_process(std::uint32_t n, const CommunicatorOptions& options = {});

  /// This process's rank of the job that the environment describes, as torchrun sets it: RANK, WORLD_SIZE, MASTER_PORT,
  /// TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT. Blocks until all ranks are there or bootstrap_timeout.
  /// Errors: invalid_argument names the variable; peer_failed; deadline_exceeded names the ranks that are missing.
  static Result<Communicator> from_environment(const CommunicatorOptions& options = {});

  /// A rank of a local job named `job` (any text shared by its `size` processes on this machine).
  static Result<Communicator> local(std::uint32_t rank, std::uint32_t size, const std::string& job, const CommunicatorOptions& options = {});

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  std::uint32_t rank() const;
  std::uint32_t size() const;
  const Topology& topology() const;  ///< all ranks' machines merged into one graph

  /// Runs a call in the calling thread; blocks until its result is there and `input` may change.
  /// Errors: invalid_argument (this rank's arguments), mismatch (ranks disagree: names who called what), peer_failed (names the
  /// rank), deadline_exceeded (names the slowest rank), aborted. After any but the first the communicator is broken: every later
  /// call returns the same error; make a new one.
  Result<void> run(const Call& call);

  /// Starts a call and returns at once; a progress thread runs it, or whoever waits for it. Errors as run(), in Work::wait; and
  /// out_of_resources when this process may not have that thread: then nothing was started, and the communicator stays usable.
  Work start(const Call& call);

  Result<void> all_reduce(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op = ReduceOp::sum);
  Result<void> reduce(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op, std::uint32_t root);
  Result<void> broadcast(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root);
  Result<void> reduce_scatter(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op = ReduceOp::sum);
  Result<void> all_gather(const void* input, void* output, std::uint64_t count, DataType type);
  Result<void> barrier();

  /// Point to point. Messages between two ranks keep their order. Outside the collectives' order: a rank may send while
  /// others are in a collective. Small sends return before the receiver comes; large ones wait for it, over
  /// a network once they are larger than its buffers.
  Result<void> send(const void* data, std::uint64_t count, DataType type, std::uint32_t to);
  Result<void> recv(void* data, std::uint64_t count, DataType type, std::uint32_t from);
  Work start_send(const void* data, std::uint64_t count, DataType type, std::uint32_t to);
  Work start_recv(void* data, std::uint64_t count, DataType type, std::uint32_t from);

  /// Between the two, calls (start, start_send, start_recv, run, ...) are collected; group_end runs all of them together, so that
  /// their order within the group can't deadlock, and returns the first error. Belongs to the calling thread.
  void group_begin();
  Result<void> group_end();

  /// From now on calls of plan.header.collective run this plan (all ranks must do the same). It is proved first, unless
  /// `unverified`. Errors: invalid_plan with the first violation; unsupported; invalid_argument while started calls are under way.
  Result<void> use_plan(const Plan& plan, bool unverified = false);

  /// The plan that a call would run, with the candidates that lost. Errors as make_plan.
  Result<Plan> plan_for(const Call& call) const;

  /// Every wait of this communicator, on every rank, ends with `aborted`. Callable from any thread, needs no peer.
  void abort();

  /// The last operations of this rank, newest last, one line each: sequence number, call, plan, state, time.
  std::string flight_record() const;

 private:
  friend class Work;
  class Impl;
  explicit Communicator(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with Works in flight, which may outlive the handle
};

/// A started call. Destroying it does not cancel the call.
class Work {
 public:
  Work() = default;
  /// Whether the call has ended (well or badly). Never blocks.
  bool done() const;
  /// Blocks until the call has ended, helping it along, and returns its result.
  Result<void> wait();
  /// The same for at most `timeout`: deadline_exceeded leaves the call running.
  Result<void> wait_for(std::chrono::nanoseconds timeout);

 private:
  friend class Communicator;
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace rondo

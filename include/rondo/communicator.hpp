/// @defgroup communicator Communicator
/// A group of ranks that run collectives together: the C++ face of the library. rondo.h is the C one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/plan.hpp"
#include "rondo/result.hpp"
#include "rondo/topology.hpp"
#include "rondo/trace.hpp"
#include "rondo/types.hpp"

/// The C++ interface of Rondo.
namespace rondo {
/// @addtogroup communicator
/// @{

/// The version of the library this program runs with: major·10000 + minor·100 + patch.
int version();

/// How a communicator is made.
struct CommunicatorOptions {
  std::chrono::nanoseconds timeout = std::chrono::minutes(30);           ///< deadline of each operation, above 0; see Communicator::set_timeout()
  std::chrono::nanoseconds bootstrap_timeout = std::chrono::minutes(5);  ///< deadline of creation, above 0
  std::string algorithm;  ///< force this algorithm wherever it can serve; empty: the cost model chooses
  std::string transport;  ///< "shm", "ucx" or "tcp"; empty: the first that can serve all pairs, UCX where all machines have InfiniBand
  /// Reductions whose bits depend on the inputs and the number of ranks alone: not on the message's size, its pieces, the algorithm, the
  /// transport or timing. Algorithms that can't are left out; calls that none can serve are unsupported (docs/design/0009-strict.md).
  bool strict = false;
  /// Whatever passes between ranks has checksums, and what isn't as it was written is the error `corrupted` of the same call, which names the ranks and the
  /// place. No call then reads peers' buffers where they are. What it costs: docs/design/0016-integrity.md. Equal on all ranks.
  bool integrity = false;
  /// all_reduces with fewer bytes than this, of one type and operation, that are started one after another run together, up to so many bytes: one call
  /// on a list in the place of many. 0: each by itself; 1 GiB at most. Ranks agree on each batch, so all such calls pay for it, run() too. Equal on all ranks.
  std::uint64_t coalesce_bytes = 0;
  std::chrono::nanoseconds coalesce_time{0};  ///< how long one that nobody waits for is held back for others to come, 1 s at most; may differ between ranks
  /// Of local() and from_environment(): whether a rank will never come, as the program knows from elsewhere. Asked some hundred times a second while ranks are
  /// waited for; creation then ends with peer_failed, which names it. Whatever a rank answers is the others' answer, too. Must not throw.
  std::function<bool(std::uint32_t rank)> stays_away;
};

/// The color of ranks that get no communicator from split().
inline constexpr std::int32_t no_color = -1;

/// One collective call. Buffers belong to the caller and must stay valid and untouched until the call (or its Work) ends.
/// `count` is elements per block: what NCCL calls count, sendcount (all_gather, gather) or recvcount (reduce_scatter, scatter);
/// all_to_all sends and receives so many to and from each rank; that some ranks are in place there and others aren't is a mismatch.
/// A rank without a part in it may leave input (broadcast, scatter:
/// all but the root) or output (reduce, gather: all but the root) null.
struct Call {
  Collective collective = Collective::all_reduce;  ///< what to do
  const void* input = nullptr;                     ///< this rank's contribution; not written, unless the call is in place
  void* output = nullptr;                          ///< gets the result
  std::uint64_t count = 0;                         ///< elements of a block
  DataType type = DataType::f32;                   ///< of the elements
  ReduceOp op = ReduceOp::sum;                     ///< of the collectives that reduce
  std::uint32_t root = 0;   ///< broadcast, reduce, gather, scatter: the root
  double scale = 1;         ///< premul_sum: this rank's factor (integers use its truncation; invalid_argument where an i64 can't hold that)
  /// reduce_scatter, scatter: in the place of `input`, a pointer to each rank's block, which lie wherever they do. Read where they are; the list is copied when
  /// a call is started. Each rank gives a list or a buffer as it likes; in place, its own block is `output`. A rank without the buffer may pass any.
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;  ///< all_gather, gather: likewise in the place of `output`. Blocks must not overlap
};

/// Blocks of different lengths in one buffer: block r, for rank r or from it, is counts[r] elements from element offsets[r] on.
/// Without offsets they lie one behind the other. The numbers are copied when a call begins.
struct Blocks {
  std::span<const std::uint64_t> counts;        ///< elements, by rank
  std::span<const std::uint64_t> offsets = {};  ///< in elements, by rank; empty: none
};

/// One tensor of a Bucket. In place: input == output.
struct Tensor {
  const void* input = nullptr;  ///< this rank's contribution; not written, unless the tensor is in place
  void* output = nullptr;       ///< gets the result
  std::uint64_t count = 0;      ///< elements; of none the pointers may be null
};

/// What all_reduce_fused() takes: tensors of one type, one behind the other. The list is copied when a call begins, the tensors are not.
struct Bucket {
  std::span<const Tensor> tensors;  ///< any number; some may be in place and others not
  DataType type = DataType::f32;    ///< of their elements
  ReduceOp op = ReduceOp::sum;      ///< what combines them
  double scale = 1;                 ///< premul_sum: this rank's factor, as in a Call; else 1
  /// f16 or bf16, with f32, sum, avg and premul_sum: ranks read one another's contributions in this type, and add them in f32. Half the traffic, less
  /// precision: contributions (scaled) are rounded to it, and results may be. Still every rank ends with the same bits.
  std::optional<DataType> wire = std::nullopt;
};

class Work;

/// One rank of a group. Movable; destroying it leaves the group (peers that still call it get peer_failed): calls that were started are waited for, 10 s or
/// the deadline at most, then aborted. Works may be kept, and have ended. In a forked child every call is invalid_argument, and abort() does nothing.
/// Threads: one communicator may be used by several threads, one call at a time each; calls on one communicator must come
/// in the same order on all ranks. Different communicators are independent, each with an order of its own; but a thread that waits in one can't
/// call another, so whoever uses several from one thread must do so in the same order on all ranks (or start the calls, which wait for nobody).
/// A wait that lasts longer than 5 s logs where the others are, and its deadline's error says it: ranks that wait for one another in two
/// communicators of a family are told so (over messages, where ranks share no memory, only who hasn't come). abort() may come from any thread.
class Communicator {
 public:
  /// `n` ranks in this process, for n threads: element r is rank r's. Takes some milliseconds.
  static Result<std::vector<Communicator>> in_process(std::uint32_t n, const CommunicatorOptions& options = {});

  /// This process's rank of the job that the environment describes, as torchrun sets it: RANK, WORLD_SIZE, MASTER_PORT,
  /// TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT; on several machines also MASTER_ADDR and RONDO_JOB_KEY_FILE (docs/several-machines.md). Without
  /// RANK a launcher that speaks PMIx (Open MPI's mpirun, srun --mpi=pmix) or PMI (MPICH's mpiexec) is asked. Waits until all ranks are there or for
  /// bootstrap_timeout.
  /// Errors: invalid_argument names the variable; peer_failed; deadline_exceeded names the ranks that are missing.
  static Result<Communicator> from_environment(const CommunicatorOptions& options = {});

  /// A rank of a local job named `job` (any text shared by its `size` processes on this machine).
  static Result<Communicator> local(std::uint32_t rank, std::uint32_t size, const std::string& job, const CommunicatorOptions& options = {});

  /// For ranks on any machines whose program has a way of its own to tell them something: rank 0's process makes an id (at most 127 printable characters),
  /// and all give it to by_id(). From now on this process listens, on the address by which others reach it (RONDO_NET_INTERFACES, the way to MASTER_ADDR,
  /// the default route). Whoever has the id can join: it is a secret, for one communicator. Errors: invalid_argument names the variable;
  /// out_of_resources.
  static Result<std::string> unique_id();
  /// Rank `rank` of `size` that were given `id`. Errors: as local(); invalid_argument (not an id; not rank 0's own).
  static Result<Communicator> by_id(std::uint32_t rank, std::uint32_t size, const std::string& id, const CommunicatorOptions& options = {});

  Communicator(Communicator&&) noexcept;             ///< the one moved from may only be assigned to or destroyed
  Communicator& operator=(Communicator&&) noexcept;  ///< likewise; leaves the group that this one was in
  ~Communicator();

  /// A collective call: the ranks that give the same `color` (0 and above) get a communicator of their own, in the order of `key`, then of
  /// their ranks here; those with no_color get none. It uses the memory that this one has mapped, has an order of calls and an
  /// end of its own, and may outlive this one. Options are this one's. Blocks as a call does.
  /// Errors: as run(); invalid_argument (a negative color, within a group: no rank must go on); out_of_resources and the like
  /// on all ranks of the color, after which this communicator stays usable.
  Result<std::optional<Communicator>> split(std::int32_t color, std::int32_t key = 0);
  /// The same ranks once more: for another thread, or a library that must not mix its calls with the program's.
  Result<Communicator> duplicate();

  /// What to do when a rank has died: a communicator of the ranks that haven't, in their old order, with this one's options. A collective call of
  /// those that are left: each must come here, or destroy its communicator, or die. Waits for them, for bootstrap_timeout at most. This communicator
  /// is over with it, if it wasn't (ranks in a call get peer_failed); what is left to do with it is to destroy it. A rank that dies meanwhile isn't
  /// in the new one, or that one's calls say so. All ranks that are left get the same answer. Split communicators and plans brought along don't come along.
  /// Where a network is cut in two each side is gone for the other, and each goes on: a program that must not do that compares sizes. A rank that all but
  /// some can't reach any more isn't in the new one, and gets peer_failed.
  /// Errors: deadline_exceeded names the ranks that did neither; out_of_resources and the like, peer_failed on the other ranks: shrink() may be
  /// called again then, by all; invalid_argument (it was shrunk before, or by another thread).
  /// Source: docs/design/0015-shrink.md.
  Result<Communicator> shrink();
  /// A communicator of `size` ranks, more than here: those of this one, which all call this and keep their numbers, and newcomers, which call
  /// local() with the numbers from this one's size on, and the same `size` and `job`. Where ranks are, or newcomers will be, on other hosts `job` is an id
  /// that rank 0's process made (unique_id()), and newcomers call by_id(). Options are this one's. Waits for all, for bootstrap_timeout at
  /// most. This communicator isn't touched, and stays what it is.
  /// Errors: as local() and by_id(); invalid_argument (ranks on several hosts, and no id); peer_failed as soon as a rank of this one has gone.
  Result<Communicator> grow(std::uint32_t size, const std::string& job);

  /// Symmetric memory: `bytes` of this rank's own, zeroed, at the beginning of a page, that the ranks of this communicator and of those split
  /// from it have mapped. No rank waits for another here, and sizes may differ. A collective whose buffers, on every rank, lie in such memory may
  /// run by plans that read them where they are, and write into outputs there (docs/design/0010-symmetric-memory.md). Ranks needn't agree on it: where
  /// some pass other memory (or are in place, and others aren't, for all_reduce) the call is one on ordinary memory. Where a call fails while a
  /// rank is stopped in it, its output's pages become a copy of what they were, and that memory is ordinary from then on. Freed with the last copy
  /// of the pointer, which may outlive the communicator. A call on memory that was freed, or past its end, is invalid_argument while the address isn't
  /// given out again. Where ranks can't map one another's memory (another transport, ulimit -v or -f), and between threads, which read any memory, it is
  /// ordinary memory, and using it after its end undefined, as always. Errors: out_of_resources; as run() once the communicator is broken.
  Result<std::shared_ptr<void>> allocate(std::uint64_t bytes);
  /// A collective call: `memory` is what allocate() gave this rank, or lies in it, with `bytes` behind it, as many on all ranks. Where that of each rank
  /// lies in this process, by rank: to be read and written as the ranks agree among themselves, and no longer than its owner keeps it. Errors: unsupported
  /// (ranks can't map one another's memory, or one passed memory that isn't such); as run().
  Result<std::vector<void*>> map_peers(void* memory, std::uint64_t bytes);

  std::uint32_t rank() const;        ///< this rank's number in the group
  std::uint32_t size() const;        ///< how many ranks the group has
  /// Of a communicator that shrink(), split() or duplicate() made: by rank, its rank in the one that it was made from. Else empty.
  const std::vector<std::uint32_t>& parent_ranks() const;
  const Topology& topology() const;  ///< all ranks' machines merged into one graph

  /// Runs a call in the calling thread; blocks until its result is there and `input` may change.
  /// Errors: invalid_argument (this rank's arguments), mismatch (ranks disagree: names who called what), peer_failed (names the
  /// rank), deadline_exceeded (names the slowest rank), aborted. After any but the first the communicator is broken: every later
  /// call returns the same error; make a new one.
  Result<void> run(const Call& call);

  /// Starts a call and returns at once; a progress thread runs it, or whoever waits for it. Errors as run(), in Work::wait; and
  /// out_of_resources when this process may not have that thread: then nothing was started, and the communicator stays usable.
  Work start(const Call& call);

  /// Every rank gets the combination of all ranks' inputs, element by element. As run(), with these fields of a Call; so do those below.
  Result<void> all_reduce(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op = ReduceOp::sum);
  /// One all_reduce of many tensors, read and written where they lie: element i of all of them together, one behind the other, is combined with
  /// element i of the other ranks' lists. Ranks agree on the sum of the counts; where one tensor ends and the next begins is each rank's own
  /// affair. Between processes, a rank whose elements lie in one ordinary buffer may call all_reduce() instead. Lists are ordinary memory
  /// wherever they lie, so that an all_reduce() on symmetric memory, or among threads of a process, is another call (mismatch).
  /// Errors: as run(); invalid_argument names the tensor: null, misaligned, or its output overlaps what another one reads or writes;
  /// unsupported: a wire type on a strict communicator, over message links, with more than 64 ranks, or where a plan was brought along.
  /// docs/design/0012-fused-buckets.md.
  Result<void> all_reduce_fused(const Bucket& bucket);
  /// Starts an all_reduce_fused(), as start() does.
  Work start_all_reduce_fused(const Bucket& bucket);
  /// The root gets the combination of all ranks' inputs.
  Result<void> reduce(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op, std::uint32_t root);
  /// Every rank gets the root's input.
  Result<void> broadcast(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root);
  /// Rank r gets block r of the combination: writes `count` elements, reads count · size().
  Result<void> reduce_scatter(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op = ReduceOp::sum);
  /// Every rank gets the inputs of all ranks, by rank: reads `count` elements, writes count · size().
  Result<void> all_gather(const void* input, void* output, std::uint64_t count, DataType type);
  /// Block s of rank r's input becomes block r of rank s's output: reads and writes count · size() elements.
  Result<void> all_to_all(const void* input, void* output, std::uint64_t count, DataType type);
  /// Each rank names the blocks it sends and those it receives, and knows nothing of the others'. What rank a sends to rank b
  /// must be as long as what b receives from a, else both get mismatch, with the two lengths. Buffers must not overlap.
  Result<void> all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type);
  /// Starts an all_to_all_v, as start() does.
  Work start_all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type);
  /// The root gets the inputs of all ranks, by rank: `count` elements from each.
  Result<void> gather(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root);
  /// Rank r gets block r, of `count` elements, of the root's input.
  Result<void> scatter(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root);
  /// Inclusive: rank r gets the combination of the inputs of ranks 0 to r. `op` is any but avg.
  Result<void> scan(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op = ReduceOp::sum);
  /// Waits until all ranks are in it.
  Result<void> barrier();

  /// Sends `count` elements to rank `to`. Messages between two ranks keep their order. Outside the collectives' order: a rank may send while
  /// others are in a collective. Small sends return before the receiver comes; large ones wait for it, over
  /// a network once they are larger than its buffers. Errors: as run().
  Result<void> send(const void* data, std::uint64_t count, DataType type, std::uint32_t to);
  /// Receives the next message of rank `from`, which must be as long. Waits until it is there. Errors: as run().
  Result<void> recv(void* data, std::uint64_t count, DataType type, std::uint32_t from);
  /// Starts a send(), as start() does. A tag must be the receive's too, else both ranks get mismatch, the sender perhaps in its next call: it doesn't
  /// choose among messages, which keep their order. send(), recv() and recv_any() have the tag 0.
  Work start_send(const void* data, std::uint64_t count, DataType type, std::uint32_t to, std::uint32_t tag = 0);
  /// Starts a recv(), as start() does.
  Work start_recv(void* data, std::uint64_t count, DataType type, std::uint32_t from, std::uint32_t tag = 0);

  /// Receives from whichever rank sends first, and says which: messages that are there already come first, ranks in turn, each one's in
  /// their order. Waits until one is there. Errors: as recv(); peer_failed also when a rank died, since it may have been the one, or when
  /// all others left; unsupported beyond 512 ranks on one machine.
  Result<std::uint32_t> recv_any(void* data, std::uint64_t count, DataType type);
  /// Starts a recv_any(), as start() does; Work::source says whose message it was.
  Work start_recv_any(void* data, std::uint64_t count, DataType type, std::uint32_t tag = 0);

  /// From now on this thread's calls (start, start_send, start_recv, run, ...) on this communicator are collected and return at once. Groups nest, also
  /// those of different communicators.
  void group_begin();
  /// The last one on this thread, of whatever communicator, runs all that was collected, so that the order of calls, and of communicators, can't
  /// deadlock, and returns the first error; those before it return at once. Error: invalid_argument (nothing was begun here).
  Result<void> group_end();

  /// From now on calls of plan.header.collective run this plan (all ranks must do the same). It is proved first, unless
  /// `unverified`. Errors: invalid_plan with the first violation; unsupported; invalid_argument while started calls are under way.
  Result<void> use_plan(const Plan& plan, bool unverified = false);

  /// The plan that a call would run, with the candidates that lost. Predictions are for buffers that lie as these do, in place or not; the choice isn't.
  /// Errors as make_plan.
  Result<Plan> plan_for(const Call& call) const;

  /// The deadline of this rank's calls from here on; those that were started before keep theirs. It counts from the time at which a call, in its turn,
  /// waits for its peers. From any thread. Error: invalid_argument (not above 0).
  Result<void> set_timeout(std::chrono::nanoseconds timeout);

  /// Whether this communicator still serves: without a call, what one would have found out about the peers. It never waits for one, but for a call of this rank
  /// that another thread has under way, for as long as that moves data. From any thread. Of peers on other machines it knows what has been heard of them, which
  /// may be nothing before the first call. Errors: peer_failed names the rank that died or failed (one that left isn't missed), aborted; what ended
  /// this communicator before.
  Result<void> check();

  /// Every wait of this communicator, on every rank, ends with `aborted`. Callable from any thread, needs no peer.
  void abort();

  /// Which rank this is and whether it has failed, in a line, and its last operations, newest last, one line each: sequence number, call, plan, state,
  /// time. A rank that fails logs the same. `rondo inspect --records` joins those of several ranks.
  std::string flight_record() const;

  /// From now on every step of this rank's calls is recorded with its times, up to `capacity` events (some 70 bytes each, taken and touched here);
  /// those beyond are counted. A call under way is left out. Calls get slower by the clock's readings; those of a communicator that isn't
  /// traced don't. Other ranks may be traced or not. Waits for no rank; from any thread.
  /// Errors: invalid_argument (it is traced already, or `capacity` is 0), out_of_resources.
  Result<void> start_trace(std::uint64_t capacity);
  /// Ends that and gives what was recorded; of a call under way, what it has done so far. Waits for no rank; from any thread.
  /// Error: invalid_argument (nothing was started).
  Result<Trace> stop_trace();

 private:
  friend class Work;
  friend struct Assembly;
  friend class ThreadGroup;
  class Impl;
  explicit Communicator(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with Works in flight, which may outlive the handle
};

/// A started call. Destroying it does not cancel the call. A default one has ended well.
class Work {
 public:
  Work() = default;
  /// Whether the call has ended (well or badly). Never blocks.
  bool done() const;
  /// Why the call was not even begun, where that was known at once: wait() tells it, too. What befell a call that was begun isn't told here. Never blocks.
  std::optional<Error> refusal() const;
  /// The rank that a started receive got its message from; nothing before its end, and of other calls. Never blocks.
  std::optional<std::uint32_t> source() const;
  /// Waits until the call has ended, helping it along, and returns its result.
  Result<void> wait();
  /// The same for at most `timeout`: deadline_exceeded leaves the call running.
  Result<void> wait_for(std::chrono::nanoseconds timeout);
  /// `tell` is called once, when the call has ended: at once where it has, else by the thread that sees it end, the progress thread or one
  /// that waits for some call of the communicator. wait() may return before. There it may start calls, look at works and wait for those; it must not throw.
  /// A second one for the same work takes the first one's place.
  void on_end(std::function<void()> tell);

 private:
  friend class Communicator;
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// @}
}  // namespace rondo

/// @defgroup cuda GPUs
/// Collectives on buffers in GPU memory, in the order of CUDA's streams.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rondo/communicator.hpp"
#include "rondo/plan.hpp"
#include "rondo/result.hpp"

namespace rondo {
/// @addtogroup cuda
/// @{

/// How a CudaCommunicator is made. All but `device` must be equal on all ranks.
struct CudaOptions {
  int device = -1;                   ///< CUDA's number of this rank's GPU; -1: the calling thread's current one
  std::uint32_t blocks = 0;          ///< thread blocks that a call may take, 512 at most; 0: what the GPU has for each of its ranks
  std::uint32_t threads = 0;         ///< of a block: a multiple of 32 from 64 to 256; 0: as measured
  std::uint64_t piece_bytes = 0;     ///< the longest piece of a message that a block moves at once; 0: as measured
  std::uint64_t staging_bytes = 32u << 20;  ///< GPU memory of this rank for what passes between ranks that can't read one another's buffers: so much for
                                            ///< collectives, and as much for messages
  std::chrono::nanoseconds timeout = std::chrono::minutes(30);  ///< of each wait of a call's blocks, above 0
  std::string algorithm;             ///< force this algorithm wherever it can serve; empty: the cost model chooses
};

/// One end of a message between two ranks, or of one to oneself.
struct CudaMessage {
  bool sends = false;        ///< to `peer`; else it is received from there
  void* memory = nullptr;    ///< of this rank's GPU; read alone where it is sent
  std::uint64_t count = 0;   ///< elements; the same at both ends
  DataType type = DataType::f32;  ///< likewise
  std::uint32_t peer = 0;    ///< the rank at the other end
  void* stream = nullptr;    ///< a cudaStream_t: the message is a part of its order

  /// The end of the rank that has it.
  static CudaMessage send(const void* data, std::uint64_t count, DataType type, std::uint32_t to, void* stream) {
    return {true, const_cast<void*>(data), count, type, to, stream};
  }
  /// The end of the rank that gets it.
  static CudaMessage receive(void* data, std::uint64_t count, DataType type, std::uint32_t from, void* stream) {
    return {false, data, count, type, from, stream};
  }
};

/// The version of the CUDA runtime that is built in, such as "13.0"; empty: built without CUDA.
std::string cuda_version();

/// CUDA's number of the GPU that the calling thread's calls go to. Errors: unsupported (no driver, no GPU, built without CUDA: says which).
Result<int> current_cuda_device();

/// One rank of a group whose buffers are in GPU memory: each rank has a GPU, and several may have the same. Calls are enqueued on streams, as CUDA's own
/// are: they return without waiting for the GPU, and what comes later in the stream sees their results; where threads share a GPU, one that is a call ahead of
/// another waits for it, a second at most, before it enqueues the next. Where processes share a GPU, whose kernels don't run side by side, ranks take turns:
/// a thread of each starts the rounds of a call, between which ranks come together on the host, while streams wait. Calls must come in the same order on all
/// ranks, whatever the streams; one on another stream than the last waits for it. They may be captured into graphs (each rank its own; the order of replays and
/// calls is then the program's affair) and need no host while they run; neither holds by turns.
/// Destroying it waits for the peers (10 s at most). Not thread-safe, but for abort(). docs/design/0020-device-executor.md.
class CudaCommunicator {
 public:
  /// A collective call of all ranks of `host`, a communicator that introduces the ranks to one another and of which this one makes a duplicate for itself.
  /// Ranks on one machine alone. Blocks as host's calls do. Errors, on all ranks: unsupported (no driver, no GPU, built without CUDA, GPUs that can't map one
  /// another's memory between ranks that don't share the host's, processes that share a GPU whose driver can't make streams wait: with the reason),
  /// out_of_resources, invalid_argument (options; ranks whose options differ), those of host.
  static Result<CudaCommunicator> create(Communicator& host, const CudaOptions& options = {});

  CudaCommunicator(CudaCommunicator&&) noexcept;             ///< the one moved from may only be assigned to or destroyed
  CudaCommunicator& operator=(CudaCommunicator&&) noexcept;  ///< likewise
  ~CudaCommunicator();

  std::uint32_t rank() const;    ///< this rank's number in the group
  std::uint32_t size() const;    ///< how many ranks the group has
  int device() const;            ///< CUDA's number of this rank's GPU
  std::uint32_t blocks() const;  ///< that a call may take

  /// Enqueues a call on `stream`, a cudaStream_t of this rank's GPU (null: the default one). Buffers are memory of this GPU, belong to the caller, and must
  /// stay valid until the stream has come past the call; where ranks are threads of one process, until all ranks' streams have.
  /// Errors: invalid_argument (arguments; memory that isn't this GPU's), unsupported (by turns a stream that is captured), and whatever check()
  /// says of earlier calls.
  Result<void> run(const Call& call, void* stream);

  /// Communicator::all_reduce_fused() on GPU memory, enqueued on `stream`: one launch that reads and writes the tensors where they lie, with slots of
  /// the bucket's wire type where it has one. Tensors of f32, f16 or bf16, in 900 places at most: those that follow one another in memory are in one. Ranks
  /// agree on the sum of the counts, the type, the operation and the wire type, not on the cuts; run() of an all_reduce is another call (mismatch). The list is
  /// read before it returns, or kept by the graph that is captured. Errors: as run(); invalid_argument names the tensor; unsupported: another type, more
  /// places, a wire type where a plan was brought along.
  Result<void> all_reduce_fused(const Bucket& bucket, void* stream);

  /// Enqueues this rank's ends of messages, which run side by side: none waits for another but for those before it between the same two ranks, the same
  /// way. Messages between two ranks are matched in their order. Nobody else takes part, and they have no place in the collectives' order; yet what this
  /// rank enqueues is run one after the other, so that a message that waits for its peer holds up this rank's calls behind it. Buffers as run()'s; where ranks
  /// are threads of one process, a message's stay in use until the peer's stream has come past its end. A long message waits for its receiver, a short one
  /// may not. Streams may differ: all wait until every one has come here, and go on when all messages have ended. Errors: as run(); unsupported (more than
  /// 128 messages, or more peers than the GPU has thread blocks for), mismatch (what a rank sends itself): those before anything is enqueued. Ends of
  /// other lengths or types are a mismatch that check() finds.
  Result<void> exchange(std::span<const CudaMessage> messages);

  /// exchange() of one message to rank `to`.
  Result<void> send(const void* data, std::uint64_t count, DataType type, std::uint32_t to, void* stream) {
    const CudaMessage message = CudaMessage::send(data, count, type, to, stream);
    return exchange({&message, 1});
  }

  /// exchange() of one message of rank `from`.
  Result<void> recv(void* data, std::uint64_t count, DataType type, std::uint32_t from, void* stream) {
    const CudaMessage message = CudaMessage::receive(data, count, type, from, stream);
    return exchange({&message, 1});
  }

  /// Communicator::all_to_all_v() on GPU memory, enqueued on `stream`: an exchange of a message from every rank to every other, which must come in the
  /// same place among the messages of any two. Errors: as exchange(); invalid_argument (blocks that overlap, counts for another number of ranks).
  Result<void> all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type, void* stream);

  /// What the calls so far have met on the GPU; never waits, so of calls under way it may know nothing yet. Errors: mismatch (ranks disagree), peer_failed,
  /// deadline_exceeded (each names the rank), aborted. After one the communicator is broken: its calls do nothing, and return the same error.
  Result<void> check() const;

  /// From now on calls of plan.header.collective run this plan (all ranks must do the same). It is proved first, unless `unverified`.
  /// Errors: invalid_plan with the first violation; unsupported (send_recv and all_to_all_v, whose plans are the planner's); invalid_argument.
  Result<void> use_plan(const Plan& plan, bool unverified = false);

  /// The plan that a call would run, with the candidates that lost. Errors as make_plan.
  Result<Plan> plan_for(const Call& call) const;

  /// The timeout of the calls from here on, in the place of CudaOptions::timeout: of each wait of their blocks. Graphs keep that of their capture. This
  /// rank's alone. Errors: invalid_argument (not above 0).
  Result<void> set_timeout(std::chrono::nanoseconds timeout);

  /// Every wait of this rank's blocks ends, and the peers' waits for it, with an error. Callable from any thread, needs no peer.
  void abort();

 private:
  class Impl;
  explicit CudaCommunicator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// @}
}  // namespace rondo

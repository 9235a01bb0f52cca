// What a CudaCommunicator is made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "communicator/cuda/device_plans.hpp"
#include "communicator/cuda/host_areas.hpp"
#include "communicator/cuda/memory.hpp"
#include "communicator/cuda/message_plans.hpp"
#include "communicator/cuda/peer_watch.hpp"
#include "communicator/cuda/turns.hpp"
#include "device/words.hpp"
#include "rondo/cuda.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// What create() has made by the end. Destroyed from the last to the first.
struct CudaParts {
  CudaOptions options;
  int device = 0;
  std::uint32_t blocks = 1;   ///< that a collective may take
  std::uint32_t room = 1;     ///< blocks that the GPUs run at once for each of their ranks
  std::uint32_t threads = 1;
  bool one_process = false;
  bool reads_peers = false;  ///< peers' buffers can be read where they are
  bool by_turns = false;   ///< some ranks share a GPU as processes
  std::optional<Communicator> host;
  std::unique_ptr<Transport> transport;   ///< of the areas, or
  std::unique_ptr<HostAreas> host_areas;  ///< where GPUs can't map one another's memory
  PinnedMemory words;      ///< HostWords
  DeviceArena plans;       ///< for their arrays
  DeviceArena senders, receivers;  ///< likewise, of messages
  CudaStream own_stream;   ///< for uploads
  CudaEvent last_call;     ///< behind the call that was enqueued last
  CudaEvent joined;        ///< for streams of an exchange
  std::unique_ptr<std::atomic<std::uint64_t>> enqueued;  ///< calls of this rank so far, but for those in graphs
  std::vector<const std::atomic<std::uint64_t>*> beside;  ///< the same of the other ranks of this process on this GPU
  device::Group group;
  device::PairAreas pairs;
  Topology topology;       ///< with the ranks on their GPUs
  CostModel cost;
};

/// A message of a rank to itself.
struct OwnCopy {
  const void* from = nullptr;
  void* to = nullptr;
  std::uint64_t bytes = 0;
};

/// What a stream that is captured hears.
Error captured_by_turns();

class CudaCommunicator::Impl {
 public:
  explicit Impl(CudaParts parts);
  /// Starts the threads that the ranks' processes need, before the first call: that which takes turns, or that which watches the peers.
  Result<void> start_threads();
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const CudaParts& parts() const { return parts_; }
  Communicator& host() { return *parts_.host; }
  Result<void> run(const Call& call, cudaStream_t stream);
  Result<void> run_fused(const Bucket& bucket, cudaStream_t stream);
  Result<void> run_messages(std::span<const CudaMessage> messages, Collective collective);
  Result<void> all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type, void* stream);
  Result<void> check() const;
  Result<void> use_plan(const Plan& plan, bool unverified);
  Result<Plan> plan_for(const Call& call) const;
  Result<void> set_timeout(std::chrono::nanoseconds timeout);
  void abort();

 private:
  PlanKey key_of(const Call& call) const;
  Result<void> wrong_memory(const void* memory, const char* name) const;
  Result<std::vector<OwnCopy>> own_copies(std::span<const CudaMessage> messages) const;
  Result<std::vector<device::Message>> ends_of(std::span<const CudaMessage> messages, Collective collective);
  Result<void> enqueue_exchange(const device::Exchange& exchange, const std::vector<device::Message>& ends, const std::vector<OwnCopy>& copies,
                                const std::vector<cudaStream_t>& streams);
  Result<void> enqueue_messages(const device::Exchange& exchange, const std::vector<device::Message>& ends, bool captured, cudaStream_t stream);
  Result<void> wrong_tensors(const Bucket& bucket) const;
  DeviceCall device_call(const DevicePlan& plan, double scale) const;
  Result<void> enqueue(const DeviceCall& call, cudaStream_t stream);
  Result<bool> captures(cudaStream_t stream) const;
  Result<void> follow_last_call(cudaStream_t stream) const;
  Result<void> mark_last_call(cudaStream_t stream);
  void keep_step() const;
  bool calls_end() const;
  void raise_abort() const;
  device::HostWords& words() const { return *static_cast<device::HostWords*>(parts_.words.get()); }

  CudaParts parts_;
  DevicePlans plans_;
  MessagePlans messages_;
  std::uint64_t exchanges_ = 0;
  cudaStream_t last_stream_ = nullptr;
  bool called_ = false;  ///< last_call was recorded
  std::unique_ptr<Turns> turns_;      ///< where ranks take them
  std::unique_ptr<PeerWatch> watch_;  ///< where ranks are processes and don't
};

}  // namespace rondo

// What a CudaCommunicator is made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/cuda/device_plans.hpp"
#include "communicator/cuda/memory.hpp"
#include "communicator/cuda/turns.hpp"
#include "device/words.hpp"
#include "rondo/cuda.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// What create() has made by the end. Destroyed from the last to the first.
struct CudaParts {
  CudaOptions options;
  int device = 0;
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;
  bool one_process = false;
  bool by_turns = false;   ///< some ranks share a GPU as processes
  std::optional<Communicator> host;
  std::unique_ptr<Transport> transport;
  PinnedMemory words;      ///< HostWords
  DeviceArena plans;       ///< for their arrays
  CudaStream own_stream;   ///< for uploads
  CudaEvent last_call;     ///< behind the call that was enqueued last
  std::unique_ptr<std::atomic<std::uint64_t>> enqueued;  ///< calls of this rank so far, but for those in graphs
  std::vector<const std::atomic<std::uint64_t>*> beside;  ///< the same of the other ranks of this process on this GPU
  device::Group group;
  Topology topology;       ///< with the ranks on their GPUs
  CostModel cost;
};

class CudaCommunicator::Impl {
 public:
  explicit Impl(CudaParts parts);
  /// Where ranks take turns, begins to; before the first call.
  Result<void> take_turns();
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const CudaParts& parts() const { return parts_; }
  Communicator& host() { return *parts_.host; }
  Result<void> run(const Call& call, cudaStream_t stream);
  Result<void> check() const;
  Result<void> use_plan(const Plan& plan, bool unverified);
  Result<Plan> plan_for(const Call& call) const;
  void abort();

 private:
  PlanKey key_of(const Call& call) const;
  Result<void> wrong_memory(const void* memory, const char* name) const;
  Result<void> enqueue(const device::Job& job, const DevicePlan& plan, DataType type, cudaStream_t stream);
  Result<void> enqueue_by_turns(const device::Job& job, const DevicePlan& plan, DataType type, cudaStream_t stream);
  Result<bool> captures(cudaStream_t stream) const;
  void keep_step() const;
  bool calls_end() const;
  device::HostWords& words() const { return *static_cast<device::HostWords*>(parts_.words.get()); }

  CudaParts parts_;
  DevicePlans plans_;
  cudaStream_t last_stream_ = nullptr;
  bool called_ = false;  ///< last_call was recorded
  std::unique_ptr<Turns> turns_;  ///< where ranks take them
};

}  // namespace rondo

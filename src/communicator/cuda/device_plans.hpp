// Calls → plans whose steps lie in GPU memory, ready to be started.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "communicator/cuda/memory.hpp"
#include "communicator/plan_cache.hpp"
#include "device/fit.hpp"
#include "device/job.hpp"
#include "device/rounds.hpp"
#include "executor/segments.hpp"
#include "rondo/planning.hpp"

namespace rondo {

/// A call's plan, fitted and uploaded.
struct DevicePlan {
  PointerRule rule;
  CallIdentity identity;
  device::Fitted fitted;
  DeviceMemory own_arrays;  ///< where the arena was full
  device::Rounds rounds;    ///< where ranks take turns
  const device::LanePart* parts = nullptr;  ///< of all rounds, in GPU memory
  device::Job job;        ///< but for buffers and factor
  device::Elements elements;
};

/// A call as it is enqueued.
struct DeviceCall {
  device::Job job;
  const DevicePlan* plan = nullptr;
  std::vector<Segment> list;  ///< in the place of the job's buffers; empty: those
};

/// What a call's buffers are on every rank: one of each, or the tensors of a list.
enum class CallBuffers : std::uint8_t { single, listed };

/// What preparing depends on besides the call. Equal on all ranks, but for `rank` and `group`.
struct DevicePlanSource {
  Topology topology;
  CostModel cost;
  PlanningOptions options;
  device::Group group;
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;
  std::uint64_t piece_bytes = 0;
  std::uint64_t slice_bytes = 0;  ///< as FitRequest has it
  bool by_turns = false;  ///< ranks' blocks don't run side by side
};

class DevicePlans {
 public:
  /// `arena` is for the plans' arrays.
  DevicePlans(DevicePlanSource source, DeviceArena arena) : source_(std::move(source)), arena_(std::move(arena)) {}

  /// The plan of a call whose key makes sense; valid as long as this. `stream`, which captures nothing, carries the upload; the current device is the
  /// group's. Errors: as make_plan and fit; CUDA's; unsupported: a wire type where a plan was brought along.
  Result<const DevicePlan*> find(const PlanKey& key, CallBuffers buffers, cudaStream_t stream);

  /// From now on calls of its collective run `plan`, lowered.
  void use(Plan plan, std::uint64_t hash);

  Result<Plan> plan(const PlanKey& key, CallBuffers buffers = CallBuffers::single) const;

 private:
  struct Imported {
    Plan plan;
    std::uint64_t hash = 0;
  };
  using Prepared = std::unordered_map<PlanKey, std::unique_ptr<DevicePlan>, PlanKeyHash>;
  Result<std::unique_ptr<DevicePlan>> prepare(const PlanKey& key, CallBuffers buffers) const;
  Result<void> upload(DevicePlan& plan, cudaStream_t stream);
  Result<std::byte*> room_for(DevicePlan& plan, std::uint64_t bytes);

  DevicePlanSource source_;
  DeviceArena arena_;
  Prepared prepared_[2];  ///< by CallBuffers
  std::vector<std::unique_ptr<DevicePlan>> replaced_;  ///< calls of theirs may be under way, or in graphs
  std::map<Collective, Imported> imported_;
  PlanKey last_key_;
  CallBuffers last_buffers_ = CallBuffers::single;
  const DevicePlan* last_ = nullptr;
};

}  // namespace rondo

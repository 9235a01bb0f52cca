// How the communicators of this process plan, for programs that plan without one.
#pragma once

#include <optional>
#include <string>

#include "rondo/planner.hpp"

namespace rondo {
/// @addtogroup planner
/// @{

/// What a communicator adds to the machine and the call.
struct PlanningOptions {
  std::string algorithm;  ///< forced wherever it can serve; empty: the cost model chooses
  bool strict = false;    ///< reductions by plans whose bits depend on the inputs and the number of ranks alone
  bool checked = false;   ///< everything that passes between ranks goes through slots or messages with checksums: no plan is inlined or direct
  PlanLimits limits;      ///< what a plan gets to run in
};

/// Those of a process's first communicator, of `ranks` ranks over shared memory, by RONDO_ALGORITHM, RONDO_STRICT, RONDO_INTEGRITY and RONDO_STAGING_BYTES.
/// Errors: invalid_argument names the RONDO_ variable that makes no sense (any of them), its value and what would be accepted.
/// The environment is read once; thread-safe.
Result<PlanningOptions> planning_options(std::uint32_t ranks);

/// The plan that a communicator with these options would run. Pure, as make_plan; errors as make_plan.
Result<Plan> plan_call(const Topology& topology, const CostModel& cost, const PlanningOptions& options, const Request& request);

/// What a plan between ranks depends on besides the call: a machine, its figures, and how this process plans.
struct PlanningScene {
  Topology topology;        ///< with its ranks
  CostModel cost;           ///< of this topology
  PlanningOptions options;  ///< planning_options() for them, with links between machines where the ranks are on several
};

/// `ranks` ranks spread over the processors of a machine that has none; none given: this machine, with the figures that were measured on it.
/// Errors: those of discover_topology() and planning_options().
Result<PlanningScene> planning_scene(std::optional<Topology> machine, std::uint32_t ranks);

/// The plan of the algorithm of that name; of none: the one that a communicator would run there. Pure; errors as make_plan.
Result<Plan> plan_call(const PlanningScene& scene, const Request& request, const std::string& algorithm);

/// A call by the size of its larger buffer, in bytes, which are rounded down to whole elements for each block. `in_place`: input and output share memory,
/// in the way that the collective has for it.
Request request_of_bytes(Collective collective, std::uint32_t ranks, std::uint64_t bytes, DataType type, bool in_place);

/// @}
}  // namespace rondo

// How the communicators of this process plan, for programs that plan without one.
#pragma once

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

/// Those of a process's first communicator over shared memory, by RONDO_ALGORITHM, RONDO_STRICT, RONDO_INTEGRITY and RONDO_STAGING_BYTES.
/// Errors: invalid_argument names the RONDO_ variable that makes no sense (any of them), its value and what would be accepted.
/// The environment is read once; thread-safe.
Result<PlanningOptions> planning_options();

/// The plan that a communicator with these options would run. Pure, as make_plan; errors as make_plan.
Result<Plan> plan_call(const Topology& topology, const CostModel& cost, const PlanningOptions& options, const Request& request);

/// @}
}  // namespace rondo

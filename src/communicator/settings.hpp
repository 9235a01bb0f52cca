// What a communicator takes from its environment and its share of the staging memory.
#pragma once

#include "base/config.hpp"
#include "executor/slot_layout.hpp"
#include "rondo/planner.hpp"

namespace rondo {

/// The part of a rank's segment that serves collectives, when its share of the staging memory is `share_bytes`.
ContextLayout main_layout(std::uint64_t share_bytes);

/// What one call of a plan may use of such a context.
PlanLimits limits_of(const ContextLayout& layout);

/// The names of all algorithms unless `name` is one of them or empty, else "". An algorithm that can't serve a call gives way to
/// the others, so a mistyped one would never be noticed.
std::string choices_for_algorithm(const std::string& name);

/// config(), and RONDO_ALGORITHM is known. Errors (invalid_argument) name variable, value and what would be accepted.
Result<Config> settings();

}  // namespace rondo

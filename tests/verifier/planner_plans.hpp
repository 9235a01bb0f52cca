// The planner's plans, as the verifier and the interpreter are tried on them.
#pragma once

#include <vector>

#include "verifier/hand_plans.hpp"

namespace rondo::test {

/// Every plan that some algorithm makes for 2 to 4 ranks, each once: sizes apart, many requests lead to one plan.
std::vector<NamedPlan> planner_plans();

}  // namespace rondo::test

// The short way of proving a plan, which verify() tries first.
#pragma once

#include <optional>

#include "rondo/plan.hpp"
#include "rondo/verifier.hpp"

namespace rondo::verifier {

/// From one rank's program. Nothing where that doesn't settle everything: the plan isn't symmetric, or not proved, or it takes all ranks to say whether it
/// combines along the one tree.
std::optional<Proof> prove_by_symmetry(const Plan& plan);

}  // namespace rondo::verifier

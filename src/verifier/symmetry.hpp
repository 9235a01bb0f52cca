// Whether all ranks' programs are rank 0's, shifted (0017-symmetric-plans.md).
#pragma once

#include <optional>

#include "rondo/plan.hpp"
#include "verifier/shifts.hpp"

namespace rondo::verifier {

struct Symmetry {
  Shifts shifts;
  Program program;   ///< rank 0's
  bool rank_order;   ///< each reduction combines something of every rank, in the order of their numbers
};

/// Makes every program and compares it. Sources of a reduction may come in any order. Nothing when no group that is known fits, or when rank 0's program
/// isn't of good form: shifts of one that is are, too.
std::optional<Symmetry> find_symmetry(const Plan& plan);

}  // namespace rondo::verifier

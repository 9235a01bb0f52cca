// Plans with one small change: what a verifier must tell from right ones.
#pragma once

#include <string>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::test {

struct Mutant {
  std::string description;  ///< the change, e.g. "rank 1, lane 0, step 3: dropped"
  Plan plan;
};

/// Every plan that is one change away, in a fixed order: a step dropped, doubled or swapped with the next; a wait for
/// another rank, lane, signal or lag; an operand of another rank, peer, channel or index; a `finish` or an `after`
/// taken away; a slot less or more.
std::vector<Mutant> all_mutants(const Plan& plan);

/// `count` of the changes to steps drawn with a seed (all if there are no more), and the slot less and more: of so few
/// a draw would often take none.
std::vector<Mutant> some_mutants(const Plan& plan, std::size_t count, std::uint64_t seed);

/// Plans that are two changes away: from up to `count` that are one away, and from those of a slot less and more.
std::vector<Mutant> double_mutants(const Plan& plan, std::size_t count, std::uint64_t seed);

}  // namespace rondo::test

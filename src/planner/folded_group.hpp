// Recursive algorithms pair ranks by the bits of their numbers, so they want a power of two. With p ranks and q the
// largest power of two within p, the first 2·(p − q) ranks fold: each odd one hands its contribution to the even one
// below it, stays out, and gets the result from it. Neighbours fold, so that contributions stay in the order of ranks.
#pragma once

#include <cstdint>

#include "planner/terms.hpp"

namespace rondo::planner {

/// Who meets whom among 2^n members: those at distances 1, 2, 4, ...
struct HalvingPairs {
  HalvingPairs(std::uint32_t all, std::uint32_t own) : members(all), number(own) {}
  std::uint32_t rounds() const { return log2_floor(members); }
  std::uint32_t partner(std::uint32_t round) const { return number ^ (1u << round); }
  /// Whether the partner of this round has the contributions of lower members.
  bool is_upper(std::uint32_t round) const { return (number >> round & 1) != 0; }

  std::uint32_t members, number;
};

struct FoldedGroup {
  FoldedGroup(std::uint32_t ranks, std::uint32_t rank)
      : members(power_of_two_below(ranks)),
        folds(ranks - members),
        out(rank < 2 * folds && rank % 2 == 1),
        folded(rank < 2 * folds && rank % 2 == 0),
        number(rank < 2 * folds ? rank / 2 : rank - folds) {}

  std::uint32_t rank_of(std::uint32_t member) const { return member < folds ? 2 * member : member + folds; }
  std::uint32_t rounds() const { return HalvingPairs(members, number).rounds(); }
  std::uint32_t partner(std::uint32_t round) const { return rank_of(HalvingPairs(members, number).partner(round)); }
  bool is_upper(std::uint32_t round) const { return HalvingPairs(members, number).is_upper(round); }

  std::uint32_t members;
  std::uint32_t folds;
  bool out;              ///< hands its contribution over and waits for the result
  bool folded;           ///< does rank + 1's part too
  std::uint32_t number;  ///< among the members
};

}  // namespace rondo::planner

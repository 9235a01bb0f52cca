// Who meets whom in swing: partners on both sides in turn, at distances 1, 1, 3, 5, 11, ...; what halving.hpp wants to know of a pairing.
#pragma once

#include "planner/negabinary.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {

/// One of 2^n members' partners. Each round's has the other parity.
struct SwingPairs {
  SwingPairs(std::uint32_t all, std::uint32_t own) : members(all), number(own) {
    // Bit k says whether the way here from member 0, in rounds 0, 1, 2, ..., has a hop of round k; partners of that round agree on the bits before it.
    const std::uint32_t digits = to_negabinary(number % 2 == 1 ? number : members - number) % members;
    halves = digits ^ (digits >> 1);
  }
  std::uint32_t rounds() const { return log2_floor(members); }
  std::uint32_t partner(std::uint32_t round) const { return swing_partner(members, number, round); }
  bool is_upper(std::uint32_t round) const { return (halves >> round & 1) != 0; }

  static constexpr bool folded = false;
  std::uint32_t members;
  std::uint32_t number;
  std::uint32_t halves;
};

}  // namespace rondo::planner

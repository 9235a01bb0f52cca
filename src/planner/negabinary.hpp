// Numbers to the base −2, in whose digits hops to both sides in turn are written (arXiv 2401.09356 and 2508.17311).
#pragma once

#include <cstdint>

namespace rondo::planner {

/// The digits of a number to the base −2: 3 is 111, 4 − 2 + 1. Of a number modulo 2^n the lowest n digits hold.
inline std::uint32_t to_negabinary(std::uint32_t number) {
  constexpr std::uint32_t odd_digits = 0xaaaaaaaa;  // those that count below 0
  return (odd_digits + number) ^ odd_digits;
}

/// A hop of round `round`, modulo the number of ranks (which is even): 1, −1, 3, −5, 11, ..., that is the sum of the first round + 1 powers of −2.
inline std::uint32_t swing_hop(std::uint32_t ranks, std::uint32_t round) {
  std::int64_t sum = 0;
  for (std::uint32_t k = 0; k <= round; ++k) sum += k % 2 == 0 ? std::int64_t{1} << k : -(std::int64_t{1} << k);
  const auto all = static_cast<std::int64_t>(ranks);
  return static_cast<std::uint32_t>((sum % all + all) % all);
}

/// Whom a rank of an even number of ranks meets in a round: even ranks go the hop, odd ones come back.
inline std::uint32_t swing_partner(std::uint32_t ranks, std::uint32_t rank, std::uint32_t round) {
  const std::uint32_t hop = swing_hop(ranks, round);
  return (rank + (rank % 2 == 0 ? hop : ranks - hop)) % ranks;
}

}  // namespace rondo::planner

// Whose slots a plan writes.
#pragma once

#include "executor/slot_layout.hpp"
#include "rondo/plan.hpp"

namespace rondo {

/// The one rank in whose slots any rank writes; no_writer; or several_writers, as of all plans with slots that aren't rooted, and those of many ranks, whose
/// programs it would take too long to make. Linear in the plan's steps, but done at the second such rank.
inline std::uint32_t only_writer(const Plan& plan) {
  constexpr std::uint32_t most_ranks = 16;
  if (plan.header.scratch_chunks == 0 || plan.header.protocol == Protocol::inlined) return no_writer;
  if (!is_rooted(plan.header.collective) || plan.header.ranks > most_ranks) return several_writers;
  std::uint32_t writer = no_writer;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps)
        for (const Operand& operand : step.destinations) {
          if (operand.buffer != Buffer::scratch) continue;
          const std::uint32_t owner = operand.rank == self ? rank : operand.rank;
          if (writer != no_writer && writer != owner) return several_writers;
          writer = owner;
        }
  return writer;
}

}  // namespace rondo

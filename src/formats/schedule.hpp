// An order in which the steps of all ranks can run.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::formats {

struct StepRef {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
};

struct Schedule {
  std::vector<StepRef> order;  ///< every step once
  bool complete = true;        ///< false: steps that can never run stand at the end, in lane order
};

inline constexpr std::uint32_t unbounded = 0;

/// Runs one body of every lane, as early as lane order, `after`, waits without lag and messages allow, with at most
/// `link_depth` messages waiting on a link. Steps have no choices, so if one order gets through, all do, and bodies
/// that follow one another get through too. Linear in steps and edges.
Schedule schedule(const std::vector<Program>& programs, std::uint32_t link_depth);

/// The smallest link depth from `wanted` up at which every step can run; `wanted` itself when no depth helps.
std::uint32_t safe_depth(const std::vector<Program>& programs, std::uint32_t wanted);

}  // namespace rondo::formats

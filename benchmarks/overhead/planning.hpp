// Planning and compiling: what the first call of its kind pays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overhead/figures.hpp"
#include "rondo/result.hpp"

namespace overhead_bench {

struct PlanningTime {
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  std::string algorithm;
  Spread us;
};

/// An f32 all-reduce of `bytes` on `ranks` ranks of one made-up machine, planned and compiled afresh `repeats` times for rank 0.
rondo::Result<PlanningTime> time_planning(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t repeats);

}  // namespace overhead_bench

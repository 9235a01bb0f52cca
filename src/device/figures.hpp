// What the cost model says of GPUs, by what CUDA tells of them.
#pragma once

#include <cstdint>

#include "rondo/planner.hpp"

namespace rondo::device {

/// Plain data, which ranks exchange.
struct GpuFigures {
  double memory_bytes_per_s = 0;  ///< of its own memory, as its clock and width give it
  double ranks = 1;               ///< that share it
  double blocks = 1;              ///< of a rank's call
  double same = 1;                ///< 1: all ranks of the group are on it; 0: some are on other GPUs
  double by_turns = 0;            ///< 1: they run one after the other, round by round
  double link_bytes_per_s = 0;    ///< of a GPU to its peers, one way; 0: not known
};

/// The figures for ranks on such GPUs. docs/design/0020-device-executor.md says which were measured.
CostModel gpu_cost(const GpuFigures& figures);

}  // namespace rondo::device

// What the cost model says of GPUs, by what CUDA tells of them.
#pragma once

#include <cstdint>

#include "rondo/planner.hpp"

namespace rondo::device {

struct GpuFigures {
  double memory_bytes_per_s = 0;  ///< of its own memory, as its clock and width give it
  double ranks = 1;               ///< that share it
  double blocks = 1;              ///< of a rank's call
  bool same = true;               ///< all ranks of the group are on it
  bool by_turns = false;          ///< they run one after the other, round by round
  bool through_host = false;      ///< what passes between them goes through host memory
  double link_bytes_per_s = 0;    ///< of a GPU to its peers, one way; 0: not known
};

/// The figures for ranks on such GPUs. docs/design/0020-device-executor.md says which were measured.
CostModel gpu_cost(const GpuFigures& figures);

}  // namespace rondo::device

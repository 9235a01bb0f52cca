// One round: every algorithm in every case, by ranks that are processes of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/result.hpp"
#include "rondo/types.hpp"

namespace predict {

/// One call of a benchmark. `bytes` are the larger buffer's, as nccl-tests counts them.
struct Case {
  rondo::Collective collective = rondo::Collective::all_reduce;
  std::uint64_t bytes = 0;
};

/// What one algorithm does in one case.
struct Cell {
  double measured_ns = 0;   ///< a call of the slowest rank, in the best of a few batches; 0: not measured, or the cores moved meanwhile
  double floor_ns = 0;      ///< a flag between the first and the last rank, just before; 0: ranks share processors, which have one state
  bool chosen = false;      ///< what a communicator that began just before runs when nothing is forced
};

struct Settings {
  std::uint32_t ranks = 2;
  double batch_ms = 2;
  bool symmetric = false;
  bool in_place = false;
  bool touched = false;  ///< ranks rewrite their inputs before each call, outside the clock
};

/// A round's cells: [case][algorithm], algorithms in the order of rondo::algorithm_names().
using Round = std::vector<std::vector<Cell>>;

/// Blocks until all ranks have ended. Error: of the first rank that failed, or out_of_resources.
rondo::Result<Round> run_round(const Settings& settings, const std::vector<Case>& cases);

}  // namespace predict

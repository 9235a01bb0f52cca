// Where each signal of a lane stands: what a wait has to know about the lane it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo {

struct SignalTable {
  std::vector<std::vector<std::uint32_t>> skews;  // [lane][signal]
  std::vector<bool> begin;                        // by lane: with a signal, of the first turn
};

inline SignalTable signals_of(const Program& program) {
  SignalTable table;
  table.skews.resize(program.lanes.size());
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const std::vector<Step>& steps = program.lanes[lane].steps;
    for (const Step& step : steps)
      if (step.kind == StepKind::signal) table.skews[lane].push_back(step.skew);
    table.begin.push_back(!steps.empty() && steps.front().kind == StepKind::signal && steps.front().skew == 0);
  }
  return table;
}

}  // namespace rondo

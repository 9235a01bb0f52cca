// The two halves of check_form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo::plan {

/// Signals of every lane of every rank: what waits refer to.
class SignalCounts {
 public:
  void add(const Program& program) {
    for (const Lane& lane : program.lanes) {
      const auto is_signal = [](const Step& step) { return step.kind == StepKind::signal; };
      counts_.push_back(static_cast<std::uint32_t>(std::count_if(lane.steps.begin(), lane.steps.end(), is_signal)));
    }
    first_.push_back(counts_.size());
  }
  std::size_t lanes(std::uint32_t rank) const { return first_[rank + 1] - first_[rank]; }
  std::uint32_t signals(std::uint32_t rank, std::uint32_t lane) const { return counts_[first_[rank] + lane]; }

 private:
  std::vector<std::size_t> first_{0};
  std::vector<std::uint32_t> counts_;
};

/// Checks one rank's program against a header of good form. Error: invalid_plan, naming rank, lane and step.
Result<void> check_program(const PlanHeader& header, const SignalCounts& counts, std::uint32_t rank,
                           const Program& program, Form form);

}  // namespace rondo::plan

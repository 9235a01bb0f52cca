#include "executor/set_aside.hpp"

#include <algorithm>

namespace rondo {
namespace {

/// The places of its output that the rank's steps name, each as often as it is named; sorted.
std::vector<std::uint64_t> outputs_named(const Executable& executable) {
  std::vector<std::uint64_t> offsets;
  for (const ExecOperand& operand : executable.operands)
    if (operand.is_in(base_output)) offsets.push_back(operand.offset);
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

}  // namespace

void set_aside_kept(Executable& executable) {
  const std::vector<std::uint64_t> named = outputs_named(executable);
  const auto is_kept = [&](const ExecStep& step) {
    if (step.op != ExecOp::copy || step.destinations != 1) return false;
    const ExecOperand& from = executable.operands[step.first_operand];
    const ExecOperand& to = executable.operands[step.first_operand + 1];
    const auto from_at = executable.input_in_output + static_cast<std::int64_t>(from.offset);
    if (!from.is_in(base_input) || !to.is_in(base_output) || from_at != static_cast<std::int64_t>(to.offset)) return false;
    const auto [first, last] = std::equal_range(named.begin(), named.end(), to.offset);
    return last - first == 1;
  };
  std::vector<ExecStep> steps, kept;
  for (ExecLane& lane : executable.lanes) {
    const auto first = static_cast<std::uint32_t>(steps.size());
    for (std::uint32_t i = 0; i < lane.steps; ++i) {
      const ExecStep& step = executable.steps[lane.first_step + i];
      (is_kept(step) ? kept : steps).push_back(step);
    }
    lane.first_step = first;
    lane.steps = static_cast<std::uint32_t>(steps.size()) - first;
  }
  executable.kept = {static_cast<std::uint32_t>(steps.size()), static_cast<std::uint32_t>(kept.size()), 0};
  steps.insert(steps.end(), kept.begin(), kept.end());
  executable.steps = std::move(steps);
}

}  // namespace rondo

#include "executor/set_aside.hpp"

#include <algorithm>

namespace rondo {
namespace {

bool is_in(const ExecOperand& operand, std::uint32_t base) { return operand.kind == ExecOperand::user && operand.base == base; }

/// How often the rank's steps name each place of its output, by offset.
std::vector<std::uint64_t> outputs_named(const Executable& executable) {
  std::vector<std::uint64_t> offsets;
  for (const ExecOperand& operand : executable.operands)
    if (is_in(operand, base_output)) offsets.push_back(operand.offset);
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

}  // namespace

void set_aside_kept(Executable& executable, std::uint32_t rank) {
  const std::vector<std::uint64_t> named = outputs_named(executable);
  // In place the smaller buffer, if one is, lies in the larger one as the rank's block.
  const std::uint64_t input_begins = executable.input_bytes < executable.output_bytes ? rank * executable.input_bytes : 0;
  const std::uint64_t output_begins = executable.output_bytes < executable.input_bytes ? rank * executable.output_bytes : 0;
  const auto is_kept = [&](const ExecStep& step) {
    if (step.op != ExecOp::copy || step.destinations != 1) return false;
    const ExecOperand& from = executable.operands[step.first_operand];
    const ExecOperand& to = executable.operands[step.first_operand + 1];
    if (!is_in(from, base_input) || !is_in(to, base_output) || input_begins + from.offset != output_begins + to.offset) return false;
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

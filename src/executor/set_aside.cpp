#include "executor/set_aside.hpp"

namespace rondo {
namespace {

/// How often the rank's steps name some of these bytes of its output.
std::ptrdiff_t times_named(const Executable& executable, std::uint64_t begin, std::uint64_t bytes) {
  std::ptrdiff_t times = 0;
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
      const ExecOperand& operand = executable.operands[step.first_operand + k];
      if (operand.is_in(base_output) && operand.offset < begin + bytes && begin < operand.offset + step.chunk_bytes) ++times;
    }
  return times;
}

}  // namespace

void set_aside_kept(Executable& executable) {
  const auto is_kept = [&](const ExecStep& step) {
    if (step.op != ExecOp::copy || step.destinations != 1) return false;
    const ExecOperand& from = executable.operands[step.first_operand];
    const ExecOperand& to = executable.operands[step.first_operand + 1];
    const auto from_at = executable.input_in_output + static_cast<std::int64_t>(from.offset);
    if (!from.is_in(base_input) || !to.is_in(base_output) || from_at != static_cast<std::int64_t>(to.offset)) return false;
    return times_named(executable, to.offset, step.chunk_bytes) == 1;
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

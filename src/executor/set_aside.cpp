#include "executor/set_aside.hpp"

#include <algorithm>
#include <vector>

namespace rondo {
namespace {

/// The bytes of its output that the rank's steps name.
class Named {
 public:
  explicit Named(const Executable& executable) {
    for (const ExecStep& step : executable.steps)
      for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
        const ExecOperand& operand = executable.operands[step.first_operand + k];
        if (!operand.is_in(base_output) || step.chunk_bytes == 0) continue;
        begins_.push_back(operand.offset);
        ends_.push_back(operand.offset + step.chunk_bytes);
      }
    std::sort(begins_.begin(), begins_.end());
    std::sort(ends_.begin(), ends_.end());
  }

  /// How often some of these are named: by all that begin before their end, but those that end before they begin.
  std::ptrdiff_t times(std::uint64_t begin, std::uint64_t bytes) const {
    const auto begun = std::lower_bound(begins_.begin(), begins_.end(), begin + bytes) - begins_.begin();
    return begun - (std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
  }

 private:
  std::vector<std::uint64_t> begins_, ends_;
};

}  // namespace

void set_aside_kept(Executable& executable) {
  const Named named(executable);
  const auto is_kept = [&](const ExecStep& step) {
    if (step.op != ExecOp::copy || step.destinations != 1) return false;
    const ExecOperand& from = executable.operands[step.first_operand];
    const ExecOperand& to = executable.operands[step.first_operand + 1];
    const auto from_at = executable.input_in_output + static_cast<std::int64_t>(from.offset);
    if (!from.is_in(base_input) || !to.is_in(base_output) || from_at != static_cast<std::int64_t>(to.offset)) return false;
    return named.times(to.offset, step.chunk_bytes) == 1;
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

#include "executor/check_slots.hpp"

#include <algorithm>

namespace rondo {

void check_slots(Executable& executable, const CompileRequest& request) {
  const bool sums = request.op == ReduceOp::sum || request.op == ReduceOp::avg;
  if (executable.kernel != nullptr && sums) executable.checked_sum = cpu_kernels().checked_sums[static_cast<std::size_t>(request.type)];
  for (ExecStep& step : executable.steps) {
    if (step.op != ExecOp::copy && step.op != ExecOp::reduce) continue;
    const ExecOperand* first = &executable.operands[step.first_operand];
    const auto is_slot = [](const ExecOperand& operand) { return operand.kind == ExecOperand::slot; };
    if (std::any_of(first, first + step.sources + step.destinations, is_slot)) step.op = ExecOp::checked_move;
  }
}

}  // namespace rondo

// Steps of plans whose scratch and messages hold a 16-bit type in the place of f32 (docs/design/0012-fused-buckets.md).
#pragma once

#include "executor/run.hpp"

namespace rondo {

/// A copy or a reduction: both round. `bytes` are of f32.
template <bool digests>
void BasicRun<digests>::combine_wire(const ExecStep& step, const void* const* pointers, std::uint64_t bytes, StoreHints hints) {
  const Executable& exec = *executable_;
  const ExecOperand* operands = &exec.operands[step.first_operand];
  WireCall call;
  call.sources = pointers;
  call.destinations = const_cast<void* const*>(pointers) + step.sources;
  call.source_count = step.sources;
  call.destination_count = step.destinations;
  call.count = bytes / exec.element_bytes;
  call.streamed = hints.streamed;
  call.scale = scale_;
  if (step.finish) call.divisor = exec.divisor;
  const auto is_narrow = [](const ExecOperand& operand) { return operand.kind == ExecOperand::slot || operand.kind == ExecOperand::link; };
  for (std::uint32_t s = 0; s < step.sources; ++s) {
    if (is_narrow(operands[s])) call.wire_sources |= std::uint64_t{1} << s;
    if (operands[s].contribution) call.scaled_sources |= std::uint64_t{1} << s;
  }
  for (std::uint32_t d = 0; d < step.destinations; ++d)
    if (is_narrow(operands[step.sources + d])) call.wire_destinations |= std::uint64_t{1} << d;
  exec.wire_kernel(call);
}

}  // namespace rondo

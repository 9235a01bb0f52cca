// Buffers of other processes that the kernel copies from (docs/design/0010-symmetric-memory.md).
#pragma once

#include <cerrno>

#include "base/kernel_copy.hpp"
#include "executor/run.hpp"

namespace rondo {

/// A piece of a peer's buffer. A peer that has failed or died meanwhile blocks the step: whoever looks round finds out why.
template <bool digests>
Progress BasicRun<digests>::fetch(const ExecStep& step, std::uint64_t piece) {
  const std::uint64_t begin = piece * executable_->piece_bytes;
  if (begin >= step.chunk_bytes) return Progress::done;
  const std::uint64_t bytes = std::min(executable_->piece_bytes, step.chunk_bytes - begin);
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  std::byte* const first = address(operands[1], piece);
  const auto from = reinterpret_cast<std::uint64_t>(address(operands[0], piece));
  const int failure = copy_from_process(context_->processes[step.rank], first, from, bytes);
  if (failure != 0) {
    if (failure == ESRCH || !confirmed()) return Progress::blocked;
    std::byte byte;
    const auto can_be_read = [&](std::uint64_t at) { return copy_from_process(context_->processes[step.rank], &byte, from + at, 1) == 0; };
    unwritable_ = failure == EFAULT && can_be_read(0) && can_be_read(bytes - 1);
    unreadable_ = failure;
    disagreeing_ = step.rank;
    return Progress::mismatch;
  }
  for (std::uint32_t i = 2; i <= step.destinations; ++i) cpu_copy(address(operands[i], piece), first, bytes, false);
  return Progress::done;
}

}  // namespace rondo

// Buffers of other processes that the kernel copies from (docs/design/0010-symmetric-memory.md).
#pragma once

#include <cerrno>
#include <cstring>

#include "base/kernel_copy.hpp"
#include "executor/run.hpp"

namespace rondo {

/// Where in its process a peer's operand begins. Returns 0, or an errno: the kernel can't read the list of its blocks, of which `begin` is then the entry.
template <bool digests>
int BasicRun<digests>::find_in_peer(const ExecStep& step, const ExecOperand& operand, std::uint64_t& begin) const {
  const std::byte* const base = bases_[operand.base];
  begin = reinterpret_cast<std::uint64_t>(is_list(base) ? entry_of(base, operand.block) : base + operand.offset);
  if (!is_list(base)) return 0;
  std::byte block[sizeof begin];
  if (const int failure = copy_from_process(context_->processes[step.rank], block, begin, sizeof block); failure != 0) return failure;
  std::memcpy(&begin, block, sizeof begin);
  begin += in_block(operand);
  return 0;
}

/// What became of a copy that the kernel didn't make. A peer that has failed or died meanwhile blocks the step: whoever looks round finds out why.
template <bool digests>
Progress BasicRun<digests>::refused(std::uint32_t rank, std::uint64_t from, std::uint64_t bytes, int failure) {
  if (failure == ESRCH || !confirmed(rank)) return Progress::blocked;
  std::byte byte;
  const auto can_be_read = [&](std::uint64_t at) { return copy_from_process(context_->processes[rank], &byte, from + at, 1) == 0; };
  unwritable_ = failure == EFAULT && can_be_read(0) && can_be_read(bytes - 1);
  unreadable_ = failure;
  disagreeing_ = rank;
  return Progress::mismatch;
}

/// A piece of a peer's buffer.
template <bool digests>
Progress BasicRun<digests>::fetch(const ExecStep& step, std::uint64_t piece) {
  const std::uint64_t begin = piece * executable_->piece_bytes;
  if (begin >= step.chunk_bytes) return Progress::done;
  const std::uint64_t bytes = std::min(executable_->piece_bytes, step.chunk_bytes - begin);
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  std::byte* const first = address(operands[1], piece);
  std::uint64_t from = 0;
  if (const int failure = find_in_peer(step, operands[0], from); failure != 0) return refused(step.rank, from, sizeof from, failure);
  from += begin;
  if (const int failure = copy_from_process(context_->processes[step.rank], first, from, bytes); failure != 0)
    return refused(step.rank, from, bytes, failure);
  for (std::uint32_t i = 2; i <= step.destinations; ++i) cpu_copy(address(operands[i], piece), first, bytes, false);
  return Progress::done;
}

}  // namespace rondo

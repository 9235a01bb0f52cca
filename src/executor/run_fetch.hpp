// Buffers of other processes that the kernel copies from, and to (docs/design/0010-symmetric-memory.md).
#pragma once

#include <unistd.h>

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

/// What became of a copy that the kernel didn't make, which stopped at `at` of the memory it read, that of `owner`: this rank or its peer. A peer that has
/// failed or died meanwhile blocks the step: whoever looks round finds out why.
template <bool digests>
Progress BasicRun<digests>::refused(std::uint32_t peer, std::uint32_t owner, std::uint64_t at, int failure) {
  if (failure == ESRCH || !confirmed(peer)) return Progress::blocked;
  std::byte byte;
  const bool readable = failure == EFAULT && copy_from_process(context_->processes[owner], &byte, at, 1) == 0;
  // What isn't a matter of addresses is one of the peer's memory as such.
  refusal_.written = owner == peer ? readable : readable || failure != EFAULT;
  refusal_.own = refusal_.written == (owner == peer);
  refusal_.reason = failure;
  disagreeing_ = peer;
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
  if (const int failure = find_in_peer(step, operands[0], from); failure != 0) return refused(step.rank, step.rank, from, failure);
  from += begin;
  std::uint64_t copied = 0;
  if (const int failure = copy_from_process(context_->processes[step.rank], first, from, bytes, &copied); failure != 0)
    return refused(step.rank, step.rank, from + copied, failure);
  for (std::uint32_t i = 2; i <= step.destinations; ++i) cpu_copy(address(operands[i], piece), first, bytes, false);
  return Progress::done;
}

/// A piece into a peer's buffer. A peer that fails gives that back to its user once nobody is in here: see leave_buffers().
template <bool digests>
Progress BasicRun<digests>::put(const ExecStep& step, std::uint64_t piece) {
  const std::uint64_t begin = piece * executable_->piece_bytes;
  if (begin >= step.chunk_bytes) return Progress::done;
  const std::uint64_t bytes = std::min(executable_->piece_bytes, step.chunk_bytes - begin);
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  const std::byte* const from = address(operands[0], piece);
  SharedWord& writes = context_->status(context_->rank()).reads;
  context_->lane(context_->rank(), 0).writer.store(static_cast<std::uint64_t>(gettid()), std::memory_order_relaxed);
  // pairs with leave_buffers() of the peer: either this rank finds it broken, or the peer finds that it is written to, and by which thread
  writes.store(call_, std::memory_order_seq_cst);
  const bool failed = context_->broken(step.rank).load(std::memory_order_seq_cst) != 0;
  const bool alive = !failed && !context_->gone(step.rank);  // another process may have a dead one's number
  std::uint64_t to = 0, copied = 0;
  const int unfound = alive ? find_in_peer(step, operands[1], to) : 0;
  const int failure = alive && unfound == 0 ? copy_to_process(context_->processes[step.rank], to + begin, from, bytes, &copied) : 0;
  writes.store(0, std::memory_order_release);
  if (!alive) return Progress::blocked;
  if (unfound != 0) return refused(step.rank, step.rank, to, unfound);
  if (failure != 0) return refused(step.rank, context_->rank(), reinterpret_cast<std::uint64_t>(from) + copied, failure);
  return Progress::done;
}

}  // namespace rondo

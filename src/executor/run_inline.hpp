// Steps whose scratch is inline lines: the payload arrives with its flag.
#pragma once

#include <cstring>

#include "base/crash_point.hpp"
#include "executor/pointer_buffer.hpp"
#include "executor/run.hpp"
#include "executor/small_copy.hpp"

namespace rondo {

template <bool digests>
Progress BasicRun<digests>::inline_publish(const ExecStep& step) {
  const Executable& exec = *executable_;
  const ExecOperand* operands = &exec.operands[step.first_operand];
  InlineLine* lines = context_->inline_lines(context_->rank(), parity_, static_cast<std::uint32_t>(operands[1].offset));
  crash_point("collective: before lines");
  publish_lines(lines, begin_of(operands[0]), step.chunk_bytes, flag());
  crash_point("collective: lines published");
  context_->wake_peers();
  crash_point("collective: sleepers woken");
  return Progress::done;
}

template <bool digests>
Progress BasicRun<digests>::poll_line(std::uint32_t rank, const InlineLine& line, std::uint32_t spins) {
  for (std::uint32_t spin = 0;; ++spin) {
    // pairs with fill_line(): release of the flag publishes the payload
    const std::uint64_t seen = line.flag.load(std::memory_order_acquire);
    if (seen == flag()) {
      crash_point("collective: a line heard");
      return Progress::done;
    }
    if (digests && seen >> 32 == (call_ & 0xffffffff) && seen != 0) {
      disagreeing_ = rank;
      return Progress::mismatch;
    }
    if (spin >= spins) return Progress::blocked;
    cpu_relax();
  }
}

/// Sources may be inline lines (of any rank) or user buffers, destinations user buffers or own inline lines.
template <bool digests>
Progress BasicRun<digests>::inline_gather(const ExecStep& step, std::uint32_t spins) {
  if (step.chunk_bytes > inline_payload) return inline_gather_many(step, spins);
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  PointerBuffer buffer;
  void** pointers = buffer.get(step.sources);
  for (std::uint32_t i = 0; i < step.sources; ++i) {
    if (operands[i].kind != ExecOperand::inline_line) {
      pointers[i] = begin_of(operands[i]);
      continue;
    }
    InlineLine* line = context_->inline_lines(operands[i].base, parity_, static_cast<std::uint32_t>(operands[i].offset));
    if (const Progress seen = poll_line(operands[i].base, *line, spins); seen != Progress::done) return seen;
    pointers[i] = line->payload;
  }
  const ExecOperand& destination = operands[step.sources];
  if (step.destinations == 1 && destination.kind != ExecOperand::inline_line) {  // what most tiny calls end with
    inline_store(step, pointers, begin_of(destination));
    return Progress::done;
  }
  alignas(8) std::byte line_copy[inline_payload];
  inline_result(step, pointers, line_copy);
  return Progress::done;
}

/// The same for chunks of several lines, which are unpacked first.
template <bool digests>
Progress BasicRun<digests>::inline_gather_many(const ExecStep& step, std::uint32_t spins) {
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  const std::uint64_t line_count = (step.chunk_bytes + inline_payload - 1) / inline_payload;
  const std::uint64_t padded = (step.chunk_bytes + cache_line - 1) / cache_line * cache_line;
  PointerBuffer buffer;
  void** pointers = buffer.get(step.sources);
  thread_local std::vector<std::byte> unpacked;
  if (unpacked.size() < padded * (step.sources + 1u)) unpacked.resize(padded * (step.sources + 1u));
  for (std::uint32_t i = 0; i < step.sources; ++i) {
    if (operands[i].kind != ExecOperand::inline_line) {
      pointers[i] = begin_of(operands[i]);
      continue;
    }
    InlineLine* lines = context_->inline_lines(operands[i].base, parity_, static_cast<std::uint32_t>(operands[i].offset));
    for (std::uint64_t k = 0; k < line_count; ++k)
      if (const Progress seen = poll_line(operands[i].base, lines[k], spins); seen != Progress::done) return seen;
    pointers[i] = unpacked.data() + padded * i;
    unpack_lines(static_cast<std::byte*>(pointers[i]), lines, step.chunk_bytes);
  }
  inline_result(step, pointers, unpacked.data() + padded * step.sources);
  return Progress::done;
}

/// Combines or copies to one place.
template <bool digests>
inline void BasicRun<digests>::inline_store(const ExecStep& step, void* const* sources, std::byte* result) {
  if (step.chunk_bytes == 0) return;
  void* target = result;
  if (step.reduces) combine(step, const_cast<const void* const*>(sources), &target, 1, step.chunk_bytes, {});
  else if (sources[0] != target) small_copy(result, sources[0], step.chunk_bytes);
}

/// Combines or copies to the destinations; the result goes straight to the first user buffer among them, else by way of `spare`.
template <bool digests>
void BasicRun<digests>::inline_result(const ExecStep& step, void* const* sources, std::byte* spare) {
  const ExecOperand* destinations = &executable_->operands[step.first_operand + step.sources];
  const std::uint64_t bytes = step.chunk_bytes;
  std::byte* result = spare;
  for (std::uint32_t i = 0; i < step.destinations; ++i)
    if (destinations[i].kind != ExecOperand::inline_line) {
      result = begin_of(destinations[i]);
      break;
    }
  inline_store(step, sources, result);
  for (std::uint32_t i = 0; i < step.destinations; ++i) {
    if (destinations[i].kind == ExecOperand::inline_line) {
      const auto first = static_cast<std::uint32_t>(destinations[i].offset);
      publish_lines(context_->inline_lines(context_->rank(), parity_, first), result, bytes, flag());
    } else if (std::byte* destination = begin_of(destinations[i]); destination != result && bytes != 0) {
      small_copy(destination, result, bytes);
    }
  }
}

}  // namespace rondo

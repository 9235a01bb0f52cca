// Steps that check what they read out of slots, and leave checksums with what they write there (docs/design/0016-integrity.md).
#pragma once

#include <algorithm>

#include "executor/pointer_buffer.hpp"
#include "executor/run.hpp"

namespace rondo {

inline constexpr std::uint64_t checked_block_bytes = 8u << 10;  ///< what is combined at a time: both its sources and its result stay in the first cache

inline SlotHeader& header_of(std::byte* slot) { return *reinterpret_cast<SlotHeader*>(slot - sizeof(SlotHeader)); }

template <bool digests>
std::uint64_t BasicRun<digests>::checksum_of(const void* content, std::uint64_t bytes, std::uint64_t piece) const {
  Checksum checksum(bytes, call_, piece);
  checksum.add(content, bytes);
  return checksum.value();
}

template <bool digests>
Progress BasicRun<digests>::corrupted(const Corruption& found) {
  corruption_ = found;
  return Progress::mismatch;
}

/// What is wrong with the slot of an operand that was read.
template <bool digests>
Progress BasicRun<digests>::corrupted_slot(const ExecOperand& operand, std::uint64_t piece) {
  const Executable& exec = *executable_;
  const std::uint64_t slots = std::max<std::uint32_t>(1, exec.plan.header.scratch_chunks);
  return corrupted({true, header_of(address(operand, piece)).writer, operand.base - base_staging, operand.offset / (exec.slot_stride / slots), piece});
}

template <bool digests>
void BasicRun<digests>::sign_slot(std::byte* slot, std::uint64_t bytes, std::uint64_t checksum) const {
  SlotHeader& header = header_of(slot);  // published with the payload, by the signal behind this step
  header.checksum = checksum;
  header.bytes = bytes;
  header.writer = context_->rank();
}

/// Checks sources that hold more or less than is read of them: they were written with another length than a user's buffer gives this step. Before anything
/// is written, since a slot may be both source and destination.
template <bool digests>
bool BasicRun<digests>::is_whole(std::byte* slot, std::uint64_t piece) const {
  const std::uint64_t bytes = header_of(slot).bytes;
  return bytes <= executable_->piece_bytes >> executable_->wire_shift && checksum_of(slot, bytes, piece) == header_of(slot).checksum;
}

/// A copy or a reduction with slots among its operands. What was read is judged when it has been read, and so before a signal tells of what was made of it.
template <bool digests>
Progress BasicRun<digests>::checked_move(const ExecStep& step, std::uint64_t piece) {
  const Executable& exec = *executable_;
  const std::uint64_t begin = piece * exec.piece_bytes;
  if (begin >= step.chunk_bytes) return Progress::done;
  const std::uint64_t bytes = std::min(exec.piece_bytes, step.chunk_bytes - begin), in_slot = bytes >> exec.wire_shift;
  const ExecOperand* operands = &exec.operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  const auto slot = [&](std::uint32_t i) { return operands[i].kind == ExecOperand::slot ? address(operands[i], piece) : nullptr; };
  checksums_.assign(std::size_t{step.sources} + 1, Checksum(in_slot, call_, piece));
  for (std::uint32_t i = 0; i < step.sources; ++i)
    if (std::byte* source = slot(i); source != nullptr && header_of(source).bytes != in_slot && !is_whole(source, piece))
      return corrupted_slot(operands[i], piece);
  if (segments_ != nullptr) {
    for (std::uint32_t i = 0; i < step.sources; ++i)
      if (slot(i) != nullptr) checksums_[i].add(slot(i), in_slot);
    move_listed(step, piece, bytes);
  } else if (step.reduces) {
    combine_checked(step, piece, bytes);
  } else {
    copy_checked(step, piece, bytes);
  }
  for (std::uint32_t i = 0; i < step.sources; ++i)
    if (std::byte* source = slot(i); source != nullptr && header_of(source).bytes == in_slot && header_of(source).checksum != checksums_[i].value())
      return corrupted_slot(operands[i], piece);
  std::optional<std::uint64_t> result;
  for (std::uint32_t i = step.sources; i < total; ++i) {
    if (slot(i) == nullptr) continue;
    if (!result) {
      if (segments_ != nullptr) checksums_[step.sources].add(slot(i), in_slot);
      result = checksums_[step.sources].value();
    }
    sign_slot(slot(i), in_slot, *result);
  }
  return Progress::done;
}

/// The first destination is copied to while the checksum is formed.
template <bool digests>
void BasicRun<digests>::copy_checked(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes) {
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  const std::byte* source = address(operands[0], piece);
  Checksum& checksum = checksums_[0];
  bool summed = false;
  for (std::uint32_t i = 1; i <= step.destinations; ++i) {
    std::byte* destination = address(operands[i], piece);
    if (destination == source) continue;
    const bool into_slot = operands[i].kind == ExecOperand::slot, streamed = out_of_place_ && operands[i].streamed;
    if (summed && into_slot) cpu_publish(destination, source, bytes);
    else if (summed) cpu_copy(destination, source, bytes, streamed);
    else if (operands[0].kind == ExecOperand::slot) checksum.pull(destination, source, bytes, streamed);
    else checksum.publish(destination, source, bytes);
    summed = true;
  }
  if (!summed) checksum.add(source, bytes);
  checksums_[1] = checksum;
}

/// A block at a time. Where a slot is one of two destinations the second is a copy of the first, made with the checksum.
template <bool digests>
void BasicRun<digests>::combine_checked(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes) {
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  PointerBuffer buffer;
  void** pointers = buffer.get(total);
  StoreHints hints;
  std::uint32_t slot = total;  // a destination of that kind
  for (std::uint32_t i = 0; i < total; ++i) {
    pointers[i] = address(operands[i], piece);
    if (i - step.sources < 64) hints.add(operands[i], i - step.sources, out_of_place_);
    if (i >= step.sources && operands[i].kind == ExecOperand::slot) slot = i;
  }
  Checksum& result = checksums_[step.sources];
  const bool twice = slot != total && step.destinations == 2;
  const std::uint32_t other = step.sources + (slot == step.sources ? 1 : 0);
  const bool streamed = (hints.streamed >> (other - step.sources) & 1) != 0;
  const std::uint64_t block = slot == total && sums_on_the_way(step) ? bytes : checked_block_bytes;
  for (std::uint64_t at = 0; at < bytes; at += block) {
    const std::uint64_t part = std::min(block, bytes - at);
    if (twice && !streamed) {
      combine_sources(step, pointers, pointers + other, 1, part, {});
      result.publish(pointers[slot], pointers[other], part);
    } else if (twice) {
      combine_sources(step, pointers, pointers + slot, 1, part, {});
      result.pull(pointers[other], pointers[slot], part, true);
    } else {
      combine_sources(step, pointers, pointers + step.sources, step.destinations, part, hints);
      if (slot != total) result.add(pointers[slot], part);
    }
    for (std::uint32_t i = 0; i < total; ++i) pointers[i] = static_cast<std::byte*>(pointers[i]) + part;
  }
}

/// Whether a kernel forms the checksum of the one source that is a slot.
template <bool digests>
bool BasicRun<digests>::sums_on_the_way(const ExecStep& step) const {
  const Executable& exec = *executable_;
  const ExecOperand* operands = &exec.operands[step.first_operand];
  return exec.checked_sum != nullptr && step.sources == 2 && (operands[0].kind == ExecOperand::slot) != (operands[1].kind == ExecOperand::slot) &&
         !(step.finish && exec.divisor != 0);
}

/// A block, and the checksums of those of its sources that are slots.
template <bool digests>
void BasicRun<digests>::combine_sources(const ExecStep& step, void* const* sources, void* const* destinations, std::uint32_t destination_count,
                                        std::uint64_t bytes, StoreHints hints) {
  const Executable& exec = *executable_;
  const ExecOperand* operands = &exec.operands[step.first_operand];
  const auto* const_sources = const_cast<const void* const*>(sources);
  if (destination_count == 1 && sums_on_the_way(step)) {
    KernelCall call;
    call.sources = const_sources;
    call.destinations = destinations;
    call.source_count = 2;
    call.destination_count = 1;
    call.count = bytes / exec.element_bytes;
    call.streamed = hints.streamed;
    const std::uint32_t checked = operands[0].kind == ExecOperand::slot ? 0 : 1;
    return exec.checked_sum(call, checked, checksums_[checked]);
  }
  for (std::uint32_t i = 0; i < step.sources; ++i)
    if (operands[i].kind == ExecOperand::slot) checksums_[i].add(sources[i], bytes);
  combine(step, const_sources, destinations, destination_count, bytes, hints);
}

}  // namespace rondo

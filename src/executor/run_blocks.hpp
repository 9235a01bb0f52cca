// Steps of all_to_all_v: each belongs to one pair, and is left out for pieces that the pair's block doesn't have.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/kernel_copy.hpp"
#include "executor/rendezvous.hpp"
#include "executor/run.hpp"
#include "executor/run_checked.hpp"

namespace rondo {

template <bool digests>
void BasicRun<digests>::bind_blocks(const BlockTable& blocks) {
  blocks_ = &blocks;
  pieces_ = pieces_of(blocks, context_->rank(), executable_->piece_bytes, executable_->rendezvous_from);
  turns_ = pieces_ + executable_->turns - executable_->pieces;
}

template <bool digests>
const Block& BasicRun<digests>::block_of(const ExecStep& step) const {
  return step.receives ? blocks_->received[step.block] : blocks_->sent[step.block];
}

/// Whether the block's receiver has the kernel copy it where it is, as both ends know from its length.
template <bool digests>
bool BasicRun<digests>::by_rendezvous(const ExecStep& step) const {
  return step.block != context_->rank() && goes_by_rendezvous(block_of(step), executable_->rendezvous_from);
}

/// Even an empty block has a first piece: whoever expects more learns from its header that there isn't any. One that the kernel copies has no other.
template <bool digests>
bool BasicRun<digests>::ended(const ExecStep& step, std::uint64_t piece) const {
  return piece != 0 && (piece * executable_->piece_bytes >= block_of(step).bytes || by_rendezvous(step));
}

template <bool digests>
Progress BasicRun<digests>::step_of_block(const ExecStep& step, std::uint64_t piece, std::uint32_t spins) {
  if (ended(step, piece)) return Progress::done;
  return step.op == ExecOp::block_wait ? wait(step, piece, spins) : move_block(step, piece);
}

template <bool digests>
Progress BasicRun<digests>::move_block(const ExecStep& step, std::uint64_t piece) {
  const Executable& exec = *executable_;
  const Block& block = block_of(step);
  const std::uint64_t begin = piece * exec.piece_bytes;
  const std::uint64_t bytes = begin >= block.bytes ? 0 : std::min(exec.piece_bytes, block.bytes - begin);
  const ExecOperand* operands = &exec.operands[step.first_operand];
  const auto slot = [&](const ExecOperand& operand) { return bases_[operand.base] + operand.offset + slot_of(piece) * exec.slot_stride; };
  if (operands[0].kind == ExecOperand::slot) {
    std::byte* source = slot(operands[0]);
    if (piece == 0 && !agree(step, header_of(source).block_bytes)) return Progress::mismatch;
    if (piece == 0 && (header_of(source).place != 0) != by_rendezvous(step)) {
      disagreeing_ = step.block;  // the ranks' figures differ
      return Progress::mismatch;
    }
    if (by_rendezvous(step)) return fetch_block(step, header_of(source).place);
    std::byte* output = bases_[base_output] + block.offset + begin;
    if (!exec.checked && operands[1].pulled) cpu_pull(output, source, bytes, false);
    else if (!exec.checked && bytes != 0) cpu_copy(output, source, bytes, false);
    if (!exec.checked) return Progress::done;
    Checksum checksum(bytes, call_, piece);
    checksum.pull(output, source, bytes, false);
    const bool whole = header_of(source).bytes == bytes && header_of(source).checksum == checksum.value();
    return whole ? Progress::done : corrupted_slot(operands[0], piece);
  }
  const std::byte* source = bases_[base_input] + block.offset + begin;
  if (operands[1].kind == ExecOperand::slot) {
    std::byte* destination = slot(operands[1]);
    // published with the payload: by the signal behind this step
    if (piece == 0) {
      header_of(destination).block_bytes = block.bytes;
      header_of(destination).place = by_rendezvous(step) ? reinterpret_cast<std::uint64_t>(source) : 0;
    }
    if (by_rendezvous(step)) return Progress::done;
    if (!exec.checked && bytes != 0) cpu_publish(destination, source, bytes, operands[1].streamed);
    if (!exec.checked) return Progress::done;
    Checksum checksum(bytes, call_, piece);
    checksum.publish(destination, source, bytes);
    sign_slot(destination, bytes, checksum.value());
    return Progress::done;
  }
  if (bytes != 0) cpu_copy(bases_[base_output] + blocks_->received[step.block].offset + begin, source, bytes, false);
  return Progress::done;
}

/// All of a block, from where its sender has it. One that has failed may have given it back to its user: it hasn't ended this call, so whoever looks round
/// finds out why. Others that fail may have ended theirs, and have nothing to do with it.
template <bool digests>
Progress BasicRun<digests>::fetch_block(const ExecStep& step, std::uint64_t place) {
  const Block& block = block_of(step);
  if (!confirmed(step.block)) return Progress::blocked;
  std::uint64_t copied = 0;
  const int failure = copy_from_process(context_->processes[step.block], bases_[base_output] + block.offset, place, block.bytes, &copied);
  if (failure != 0) return refused(step.block, step.block, place + copied, failure);
  return confirmed(step.block) ? Progress::done : Progress::blocked;
}

/// Whether all who read a block of this rank's where it is have done so: by what tells a sender otherwise that a slot may be written again.
template <bool digests>
bool BasicRun<digests>::blocks_read(std::uint32_t spins) {
  for (const ExecStep& step : executable_->steps) {
    if (!is_credit(step) || !by_rendezvous(step) || wait(step, step.lag, spins) == Progress::done) continue;
    blocked_ = &step;
    blocked_piece_ = step.lag;
    return false;
  }
  blocked_ = nullptr;
  return true;
}

/// Whether the block is as long at its sender as it is here.
template <bool digests>
bool BasicRun<digests>::agree(const ExecStep& step, std::uint64_t sent_bytes) {
  if (sent_bytes == block_of(step).bytes) return true;
  disagreeing_ = step.block;
  sent_bytes_ = sent_bytes;
  block_disagrees_ = true;
  return false;
}

}  // namespace rondo

// Steps of all_to_all_v: each belongs to one pair, and is left out for pieces that the pair's block doesn't have.
#pragma once

#include <algorithm>
#include <cstring>

#include "executor/run.hpp"
#include "executor/run_checked.hpp"

namespace rondo {

template <bool digests>
void BasicRun<digests>::bind_blocks(const BlockTable& blocks) {
  blocks_ = &blocks;
  pieces_ = pieces_of(blocks, executable_->piece_bytes);
  turns_ = pieces_ + executable_->turns - executable_->pieces;
}

template <bool digests>
const Block& BasicRun<digests>::block_of(const ExecStep& step) const {
  return step.receives ? blocks_->received[step.block] : blocks_->sent[step.block];
}

/// Even an empty block has a first piece: whoever expects more learns from its header that there isn't any.
template <bool digests>
bool BasicRun<digests>::ended(const ExecStep& step, std::uint64_t piece) const {
  return piece != 0 && piece * executable_->piece_bytes >= block_of(step).bytes;
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
    std::byte* output = bases_[base_output] + block.offset + begin;
    if (!exec.checked && bytes != 0) cpu_copy(output, source, bytes, false);
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
    if (piece == 0) header_of(destination).block_bytes = block.bytes;
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

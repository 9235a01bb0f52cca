// Steps with message links among their operands.
#pragma once

#include <algorithm>
#include <cstring>

#include "executor/pointer_buffer.hpp"
#include "executor/run.hpp"
#include "rondo/kernels.hpp"

namespace rondo {

template <bool digests>
std::uint32_t BasicRun<digests>::channel_of(const ExecOperand& link) const {
  return context_->first_channel() + static_cast<std::uint32_t>(link.offset);
}

template <bool digests>
Progress BasicRun<digests>::link_move(const ExecStep& step, std::uint64_t piece) {
  const Executable& exec = *executable_;
  Transport& transport = context_->transport();
  if (exec.by_blocks && ended(step, piece)) return Progress::done;
  const std::uint64_t length = exec.by_blocks ? block_of(step).bytes : step.chunk_bytes;
  const std::uint64_t count = exec.by_blocks ? length : identity_->count;  // in the header: what both ends must agree on
  const std::uint64_t begin = piece * exec.piece_bytes;
  const std::uint64_t bytes = begin >= length ? 0 : std::min(exec.piece_bytes, length - begin);
  const std::uint64_t sent = bytes >> exec.wire_shift;  // of a message, or a slot
  const ExecOperand* operands = &exec.operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  PointerBuffer buffer;
  void** pointers = buffer.get(total);
  transport.progress();
  for (std::uint32_t i = 0; i < total; ++i) {
    if (operands[i].kind != ExecOperand::link) {
      if (segments_ != nullptr && operands[i].kind == ExecOperand::user) continue;
      pointers[i] = exec.by_blocks ? bases_[operands[i].base] + block_of(step).offset + begin : address(operands[i], piece);
      continue;
    }
    const auto peer = context_->member(operands[i].base);
    const std::uint32_t channel = channel_of(operands[i]);
    const Message message = i < step.sources ? transport.receive_slot(peer, channel) : transport.send_slot(peer, channel, sent);
    if (message.payload == nullptr) return Progress::blocked;
    pointers[i] = message.payload;
    if (i < step.sources) {
      const bool same_call = message.header[0] == call_ && message.header[5] == history_;
      if (exec.by_blocks && same_call && !agree(step, message.header[1])) return Progress::mismatch;
      if (!same_call || message.bytes != sent) {
        disagreeing_ = operands[i].base;
        return Progress::mismatch;
      }
    } else {
      const std::uint64_t header[Message::header_words] = {call_, count, identity_->plan_hash, identity_->what(), identity_->root, history_, 0};
      std::memcpy(message.header, header, sizeof header);
    }
  }
  // Not sooner: a step that is blocked looks again many times.
  if (exec.checked)
    if (const Progress judged = judge_sources(step, piece, sent); judged != Progress::done) return judged;
  if (bytes != 0) {
    if (segments_ != nullptr) move_runs(step, piece, bytes, pointers);
    else if (step.reduces) combine(step, const_cast<const void* const*>(pointers), pointers + step.sources, step.destinations, bytes, {});
    else
      for (std::uint32_t i = 1; i < total; ++i)
        if (pointers[i] != pointers[0]) cpu_copy(pointers[i], pointers[0], bytes, false);
  }
  for (std::uint32_t i = 0; i < total; ++i) {
    if (exec.checked && i >= step.sources && operands[i].kind == ExecOperand::slot) {
      std::byte* const slot = address(operands[i], piece);
      sign_slot(slot, sent, checksum_of(slot, sent, piece));
    }
    if (operands[i].kind != ExecOperand::link) continue;
    const auto peer = context_->member(operands[i].base);
    const std::uint32_t channel = channel_of(operands[i]);
    if (i < step.sources) {
      transport.release(peer, channel);
    } else {
      if (exec.checked) {
        const Message message = transport.send_slot(peer, channel, sent);  // the one that was written
        message.header[6] = checksum_of(message.payload, sent, piece);
      }
      transport.post(peer, channel);
    }
  }
  return Progress::done;
}

/// What a step reads out of messages and slots, all of which are there; `bytes` of each message.
template <bool digests>
Progress BasicRun<digests>::judge_sources(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes) {
  for (std::uint32_t i = 0; i < step.sources; ++i) {
    const ExecOperand& operand = executable_->operands[step.first_operand + i];
    if (operand.kind == ExecOperand::slot && !is_whole(address(operand, piece), piece)) return corrupted_slot(operand, piece);
    if (operand.kind != ExecOperand::link) continue;
    const Message message = context_->transport().receive_slot(context_->member(operand.base), channel_of(operand));
    if (message.header[6] != checksum_of(message.payload, bytes, piece)) return corrupted({true, operand.base, operand.base, operand.offset, piece, true});
  }
  return Progress::done;
}

template <bool digests>
bool BasicRun<digests>::waits_for(std::uint32_t rank) const {
  if (blocked_ == nullptr || blocked_->op != ExecOp::link_move) return false;
  const ExecOperand* first = &executable_->operands[blocked_->first_operand];
  return std::any_of(first, first + blocked_->sources + blocked_->destinations,
                     [rank](const ExecOperand& operand) { return operand.kind == ExecOperand::link && operand.base == rank; });
}

/// The message that disagrees is still in its slot.
template <bool digests>
ToldCall BasicRun<digests>::disagreeing_call() const {
  if (blocked_ == nullptr || blocked_->op != ExecOp::link_move) return {};
  for (std::uint32_t i = 0; i < blocked_->sources; ++i) {
    const ExecOperand& operand = executable_->operands[blocked_->first_operand + i];
    if (operand.kind != ExecOperand::link || operand.base != disagreeing_) continue;
    const Message message = context_->transport().receive_slot(context_->member(operand.base), channel_of(operand));
    if (message.payload == nullptr) continue;
    return {message.header[0], CallIdentity::of_words(message.header[1], message.header[2], message.header[3], message.header[4])};
  }
  return {};
}

/// A call ends when its own last messages have left: the caller may not come back to turn the crank for them. Those of other
/// contexts don't count: a started send may wait for what its receiver does after this call.
template <bool digests>
bool BasicRun<digests>::links_idle() {
  Transport& transport = context_->transport();
  transport.progress();
  for (const ExecStep& step : executable_->steps) {
    if (step.op != ExecOp::link_move) continue;
    const ExecOperand* destinations = &executable_->operands[step.first_operand + step.sources];
    const bool idle = std::all_of(destinations, destinations + step.destinations, [&](const ExecOperand& operand) {
      return operand.kind != ExecOperand::link || transport.idle(context_->member(operand.base), channel_of(operand));
    });
    if (idle) continue;
    blocked_ = &step;
    return false;
  }
  blocked_ = nullptr;
  return true;
}

}  // namespace rondo

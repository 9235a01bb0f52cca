// Steps with message links among their operands.
#pragma once

#include <algorithm>
#include <cstring>

#include "executor/pointer_buffer.hpp"
#include "executor/run.hpp"

namespace rondo {

template <bool digests>
Progress BasicRun<digests>::link_move(const ExecStep& step, std::uint64_t piece) {
  const Executable& exec = *executable_;
  Transport& transport = context_->transport();
  const std::uint64_t begin = piece * exec.piece_bytes;
  const std::uint64_t bytes = begin >= step.chunk_bytes ? 0 : std::min(exec.piece_bytes, step.chunk_bytes - begin);
  const ExecOperand* operands = &exec.operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  PointerBuffer buffer;
  void** pointers = buffer.get(total);
  transport.progress();
  for (std::uint32_t i = 0; i < total; ++i) {
    if (operands[i].kind != ExecOperand::link) {
      pointers[i] = address(operands[i], piece);
      continue;
    }
    const auto peer = context_->member(operands[i].base);
    const auto channel = static_cast<std::uint32_t>(operands[i].offset);
    const Message message = i < step.sources ? transport.receive_slot(peer, channel) : transport.send_slot(peer, channel, bytes);
    if (message.payload == nullptr) return Progress::blocked;
    pointers[i] = message.payload;
    if (i < step.sources) {
      const bool agrees = message.header[0] == call_ && message.header[5] == history_ && message.bytes == bytes;
      if (!agrees) {
        disagreeing_ = operands[i].base;
        return Progress::mismatch;
      }
    } else {
      const std::uint64_t header[Message::header_words] = {call_, identity_.count, identity_.plan_hash, identity_.what(), identity_.root, history_};
      std::memcpy(message.header, header, sizeof header);
    }
  }
  if (bytes != 0) {
    if (step.reduces) combine(step, const_cast<const void* const*>(pointers), pointers + step.sources, step.destinations, bytes, 0);
    else
      for (std::uint32_t i = 1; i < total; ++i)
        if (pointers[i] != pointers[0]) std::memcpy(pointers[i], pointers[0], bytes);
  }
  for (std::uint32_t i = 0; i < total; ++i) {
    if (operands[i].kind != ExecOperand::link) continue;
    const auto peer = context_->member(operands[i].base);
    const auto channel = static_cast<std::uint32_t>(operands[i].offset);
    if (i < step.sources) transport.release(peer, channel);
    else transport.post(peer, channel);
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

/// A call ends when its last message has left: the caller may not come back to turn the crank for it.
template <bool digests>
bool BasicRun<digests>::links_idle() {
  blocked_ = nullptr;
  context_->transport().progress();
  return context_->transport().idle();
}

}  // namespace rondo

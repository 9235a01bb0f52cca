#include "executor/mark_stores.hpp"

#include <algorithm>

namespace rondo {
namespace {

constexpr std::uint64_t most_claimed_alone = 64u << 10;     ///< of its slots, by a rank that writes while the others read
constexpr std::uint64_t most_claimed_together = 32u << 10;  ///< by ranks that all write: longer calls leave them no time

/// Bytes of the caller's memory that a rank touches in place where what it writes there is not what it has just read; else 0.
std::uint64_t touched_in_place(const Executable& executable) {
  switch (executable.plan.header.collective) {
    case Collective::all_gather:
    case Collective::scatter: return executable.output_bytes;
    case Collective::gather: return executable.output_bytes - executable.input_bytes;
    default: return 0;
  }
}

/// Whether a root hands out its input by copies that it shares with its peers (Step::once): a plan says it on all its ranks.
bool hands_out(const Executable& executable) {
  const Collective collective = executable.plan.header.collective;
  if (collective != Collective::broadcast && collective != Collective::scatter) return false;
  return std::any_of(executable.steps.begin(), executable.steps.end(), [](const ExecStep& step) { return step.op == ExecOp::once; });
}

/// Outputs that no step reads again are written past the caches when the message is large; what is pulled (below) is not. Where outputs of
/// peers are read, so are this rank's, and what it combines is what they read.
void mark_streamed(Executable& executable, std::uint64_t above_bytes) {
  if (executable.output_bytes <= above_bytes) return;
  executable.streams_in_place = touched_in_place(executable) / 2 > above_bytes;  // the limit is one of outputs whose input is as large
  std::vector<std::uint64_t> read;
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t i = 0; i < step.sources; ++i)
      if (const auto& operand = executable.operands[step.first_operand + i]; operand.is_in(base_output)) read.push_back(operand.offset);
  std::sort(read.begin(), read.end());
  const bool reads_outputs =
      std::any_of(executable.steps.begin(), executable.steps.end(), [](const ExecStep& step) { return (step.attaches & reads_output) != 0; });
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t i = 0; i < step.destinations && !(reads_outputs && step.op == ExecOp::reduce); ++i) {
      ExecOperand& operand = executable.operands[step.first_operand + step.sources + i];
      if (operand.kind == ExecOperand::user && !std::binary_search(read.begin(), read.end(), operand.offset)) operand.streamed = true;
    }
}

/// What peers read out of slots.
void mark_slots(Executable& executable) {
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t i = step.sources; i < step.sources + step.destinations; ++i)
      if (ExecOperand& operand = executable.operands[step.first_operand + i]; operand.kind == ExecOperand::slot) operand.streamed = true;
}

/// What reductions write: slots that peers have read, outputs that the caches don't hold.
void mark_claimed(Executable& executable) {
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t i = step.sources; step.op == ExecOp::reduce && i < step.sources + step.destinations; ++i)
      executable.operands[step.first_operand + i].claimed = true;
}

/// What this rank writes of its own slots, to be asked for ahead: not where that is more than what waiting for a call leaves time for, nor in calls whose
/// blocks are of any length.
void mark_own(Executable& executable, std::uint32_t rank) {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t i = step.sources; i < step.sources + step.destinations; ++i) {
      const ExecOperand& operand = executable.operands[step.first_operand + i];
      if (operand.kind != ExecOperand::slot || operand.base != base_staging + rank) continue;
      executable.aims_claims = true;
      if (operand.streamed || executable.by_blocks) continue;
      begin = std::min(begin, operand.offset - (executable.checked ? sizeof(SlotHeader) : 0));
      end = std::max(end, operand.offset + (std::min(step.chunk_bytes, executable.piece_bytes) >> executable.wire_shift));
    }
  if (begin >= end) return;
  const bool alone = executable.writer == rank;
  const std::uint64_t bytes = (executable.pieces - 1) * executable.slot_stride + end - begin;
  if (!alone && bytes > most_claimed_together) return;
  executable.claim_begin = begin;
  executable.claim_bytes = std::min(bytes, most_claimed_alone);
}

/// What is copied out of slots; with `directly` from peers' memory, too, but not where they write to this rank's at the same time (Step::once); with `uncached`
/// what a rank copies for itself, and none of it is streamed.
void mark_pulled(Executable& executable, bool directly, bool uncached, bool streams) {
  const std::uint32_t peers = base_of_peer(executable.plan.header.ranks, 0, false);
  std::uint32_t shared_out = 0;  // of the next steps
  const auto pulls = [&](const ExecOperand& source) {
    return uncached || source.kind == ExecOperand::slot || (directly && shared_out == 0 && source.base >= peers);
  };
  for (const ExecStep& step : executable.steps) {
    if ((step.op == ExecOp::copy || step.op == ExecOp::block_move) && pulls(executable.operands[step.first_operand]))
      for (std::uint32_t i = 1; i <= step.destinations; ++i) {
        ExecOperand& operand = executable.operands[step.first_operand + i];
        operand.pulled = true;
        if (operand.kind == ExecOperand::user) operand.streamed &= streams;
      }
    if (step.op == ExecOp::once) shared_out = step.lag;
    else if (shared_out != 0) --shared_out;
  }
}

}  // namespace

void mark_stores(Executable& executable, const CompileRequest& request) {
  // What such a plan writes goes through the caches as long as one holds it: past them what the root keeps holds up the others.
  mark_streamed(executable, hands_out(executable) ? std::max(request.stream_above_bytes, request.cached_bytes) : request.stream_above_bytes);
  if (request.slots_past_caches) mark_slots(executable);
  if (request.claims_pay) {
    mark_claimed(executable);
    if (request.reach != Reach::messages) mark_own(executable, request.rank);  // beyond memory slots are this rank's alone
  }
  if (request.pulls_beat_copies) mark_pulled(executable, false, executable.output_bytes > request.cached_bytes, false);
  else if (request.pulls_near && !request.slots_past_caches) mark_pulled(executable, request.pulls_directly, false, true);
}

}  // namespace rondo

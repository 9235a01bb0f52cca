// The interpreter: entering, finishing, lanes, and the steps on mapped memory. run.cpp compiles it.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "executor/integer_scale.hpp"
#include "executor/pointer_buffer.hpp"
#include "executor/run.hpp"
#include "executor/small_copy.hpp"
#include "executor/thread_checker.hpp"

namespace rondo {

template <bool digests>
void BasicRun<digests>::begin(Context& context, const Executable& executable, const CallIdentity& identity, std::uint32_t digest, const Binding& binding) {
  context_ = &context;
  executable_ = &executable;
  call_ = ++context.call;
  parity_ = call_ & 1;
  digest_ = digest;
  if constexpr (digests) {
    history_before_ = context.history;
    history_ = context.history = chained(context.history, digest);
  }
  identity_ = &identity;
  const Context::Halves halves = context.take_halves(executable.writer);
  first_slot_ = executable.slots_per_call != 0 ? halves.earlier * executable.slots_per_call % executable.ring_slots : 0;
  if (executable.aims_claims) aim_claims(halves);
  scale_ = binding.scale;
  bases_ = halves.bases;
  // The plan never writes an input; the base table is shared with outputs, hence the cast.
  bases_[base_input] = static_cast<std::byte*>(const_cast<void*>(binding.input));
  bases_[base_output] = static_cast<std::byte*>(binding.output);
  const auto input = reinterpret_cast<std::intptr_t>(binding.input), output = reinterpret_cast<std::intptr_t>(binding.output);
  out_of_place_ = input != output + executable.input_in_output || executable.streams_in_place;
  if (binding.apart != nullptr) [[unlikely]] bind_apart(binding.apart);
  segments_ = scattered_ = nullptr;
  if (binding.segments != nullptr) [[unlikely]] bind_segments(*binding.segments);
  entered_ = false;
  agreed_ = !executable.agrees;
  blocked_ = nullptr;
  step_ = 0;
  if (executable.straight) return;
  cursors_.assign(executable.lanes.size(), Cursor{});
  pieces_ = executable.pieces;
  turns_ = executable.turns;
  kept_piece_ = executable.kept.steps != 0 ? 0 : ~std::uint64_t{0};
  if (executable.by_blocks) bind_blocks(*binding.blocks);
}

/// As if the next call were another one of these. Where its slots go round the ring's end, those at the ring's beginning are not asked for.
template <bool digests>
void BasicRun<digests>::aim_claims(const Context::Halves& halves) {
  const Executable& exec = *executable_;
  std::uint64_t slot = first_slot_ + (halves.next_goes_on ? exec.slots_per_call : 0);
  if (slot >= exec.ring_slots) slot -= exec.ring_slots;
  const std::uint64_t room = (exec.ring_slots - slot) * exec.slot_stride - exec.claim_begin;
  context_->claims->aim(halves.next_own + slot * exec.slot_stride + exec.claim_begin, std::min(exec.claim_bytes, room));
}

template <bool digests>
void BasicRun<digests>::bind_apart(void* const* blocks) {
  const bool outputs = input_is_block(executable_->plan.header.collective);
  bases_[outputs ? base_output : base_input] = as_buffer(blocks);
  out_of_place_ = blocks[context_->rank()] != bases_[outputs ? base_input : base_output] || executable_->streams_in_place;
}

/// The one cross-call rule: before the first write of call c every peer has finished c − 2. A peer that entered c − 1 has;
/// otherwise its `done` word says so.
template <bool digests>
bool BasicRun<digests>::enter() {
  Context& context = *context_;
  if (context.entered_by_all + 1 < call_ && call_ > 2) {
    for (std::uint32_t rank = 0; rank < context.size(); ++rank) {
      if (rank == context.rank() || !context.mapped(rank) || context.entered[rank] + 1 >= call_) continue;
      // pairs with finish() of the peer: release of done publishes its last reads and writes of that call
      if (context.status(rank).done.load(std::memory_order_acquire) + 2 < call_) return false;
      context.entered[rank] = call_ - 1;
    }
  }
  entered_ = true;
  crash_point("collective: entered");
  if constexpr (digests) write_record();
  if (executable_->direct) tell_buffers();
  crash_point("collective: call told");
  return true;
}

template <bool digests>
void BasicRun<digests>::write_record() {
  CallRecord& record = context_->record(context_->rank(), parity_);
  // The call of two calls ago said the same of itself, as calls that repeat do: only its number is new.
  if (record.digest.load(std::memory_order_relaxed) == digest_) return record.sequence.store(call_, std::memory_order_release);
  record.sequence.store(0, std::memory_order_relaxed);
  // pairs with read_record(): whoever acquires a new field sees sequence 0, or the new one
  record.count.store(identity_->count, std::memory_order_release);
  record.plan_hash.store(identity_->plan_hash, std::memory_order_release);
  record.what.store(identity_->what(), std::memory_order_release);
  record.root.store(identity_->root, std::memory_order_release);
  record.digest.store(digest_, std::memory_order_release);
  record.sequence.store(call_, std::memory_order_release);
}

template <bool digests>
void BasicRun<digests>::finish() {
  Context& context = *context_;
  if (scattered_ != nullptr) [[unlikely]] scatter();
  if (executable_->hears_all) {
    context.entered_by_all = call_;
  } else {
    for (const std::uint32_t rank : executable_->hears) context.entered[rank] = call_;
  }
  if (says_when_it_touches()) context.status(context.rank()).reads.store(0, std::memory_order_release);
  crash_point("collective: about to be done");
  // pairs with enter() of the peers
  context.status(context.rank()).done.store(call_, std::memory_order_release);
  crash_point("collective: said that it is done");
}

template <bool digests>
Progress BasicRun<digests>::advance(std::uint32_t spins) {
  if (!entered_ && !enter()) return Progress::blocked;
  if (!agreed_)
    if (const Progress agreed = agree(spins); agreed != Progress::done) return agreed;
  const Progress progress = executable_->straight ? advance_straight<false>(spins) : advance_lanes<false>(spins);
  if (progress != Progress::done) return progress;
  if (lingers() && !may_end(spins)) return Progress::blocked;
  finish();
  return Progress::done;
}

/// Whether peers may need this rank when its steps are done.
template <bool digests>
bool BasicRun<digests>::lingers() const {
  return executable_->links || executable_->rendezvous_from != 0;
}

template <bool digests>
bool BasicRun<digests>::may_end(std::uint32_t spins) {
  return (!executable_->links || links_idle()) && (executable_->rendezvous_from == 0 || blocks_read(spins));
}

/// One lane, one turn: the small calls. No cursor but the step's number.
template <bool digests>
template <bool traced>
Progress BasicRun<digests>::advance_straight(std::uint32_t spins) {
  const ExecStep* steps = executable_->steps.data();
  const auto count = static_cast<std::uint32_t>(executable_->steps.size());
  for (; step_ < count; ++step_) {
    const Progress progress = step_as<traced>(steps[step_], 0, 0, 0, spins);
    if (progress != Progress::done) [[unlikely]] {
      if (progress == Progress::skip) {
        step_ += steps[step_].lag;
        continue;
      }
      blocked_ = &steps[step_];
      blocked_piece_ = 0;
      return progress;
    }
  }
  return Progress::done;
}

template <bool digests>
template <bool traced>
Progress BasicRun<digests>::advance_lanes(std::uint32_t spins) {
  for (std::uint32_t idle_rounds = 0;;) {
    const bool kept = kept_piece_ >= pieces_;
    bool all_done = true;
    // With several lanes none spins, but all of them in turn: another lane of this rank may be what the wait is for. Nor does one with something
    // left to copy.
    const bool single = cursors_.size() == 1;
    const std::uint32_t lane_spins = single && kept ? spins : 0;
    for (std::uint32_t lane = 0; lane < cursors_.size(); ++lane) {
      Cursor& cursor = cursors_[lane];
      if (cursor.done) continue;
      const Progress progress = advance_lane<traced>(lane, cursor, lane_spins);
      if (progress == Progress::mismatch) return progress;
      all_done &= progress == Progress::done;
    }
    if (!kept) {
      keep_piece<traced>();
      continue;
    }
    if (all_done) return Progress::done;
    // Over links a look is a call of the kernel, not of a cache line: the caller yields between them.
    if (single || executable_->links || idle_rounds++ >= spins) return Progress::blocked;
    context_->claims->ask_or_relax();
  }
}

/// A piece of what nobody waits for.
template <bool digests>
template <bool traced>
void BasicRun<digests>::keep_piece() {
  for (std::uint32_t i = 0; i < executable_->kept.steps; ++i) {
    const ExecStep& step = executable_->steps[executable_->kept.first_step + i];
    const std::int64_t begin = traced ? now_ns() : 0;
    move(step, kept_piece_);
    if constexpr (traced) record(step, kept_piece_, 0, begin);
  }
  ++kept_piece_;
}

template <bool digests>
template <bool traced>
Progress BasicRun<digests>::advance_lane(std::uint32_t lane, Cursor& cursor, std::uint32_t spins) {
  const Executable& exec = *executable_;
  const ExecLane& exec_lane = exec.lanes[lane];
  for (; cursor.turn < turns_; ++cursor.turn, cursor.step = 0) {
    for (; cursor.step < exec_lane.steps; ++cursor.step) {
      const ExecStep& step = exec.steps[exec_lane.first_step + cursor.step];
      const std::uint64_t piece = cursor.turn - step.skew;
      if (cursor.turn < step.skew || piece >= pieces_) continue;
      const Progress progress = step_as<traced>(step, lane, cursor.turn, piece, spins);
      if (progress != Progress::done) {
        if (progress == Progress::skip) {
          cursor.step += step.lag;
          continue;
        }
        blocked_ = &step;
        blocked_piece_ = piece;
        return progress;
      }
    }
  }
  cursor.done = true;
  return Progress::done;
}

// inlined into both loops: a tiny call has two steps, and a call for each shows
template <bool digests>
[[gnu::always_inline]] inline Progress BasicRun<digests>::step_once(const ExecStep& step, std::uint32_t lane, std::uint64_t turn,
                                                                   std::uint64_t piece, std::uint32_t spins) {
  switch (step.op) {
    case ExecOp::copy:
    case ExecOp::reduce:
      crash_point("collective: before a piece");
      move(step, piece);
      crash_point("collective: piece moved");
      return Progress::done;
    case ExecOp::checked_move: return checked_move(step, piece);
    case ExecOp::fetch: return fetch(step, piece);
    case ExecOp::put: return put(step, piece);
    case ExecOp::signal: return signal(step, lane, turn);
    case ExecOp::wait: return wait(step, piece, spins);
    case ExecOp::once: return take_once(step, piece);
    case ExecOp::inline_publish: return inline_publish(step);
    case ExecOp::inline_gather: return inline_gather(step, spins);
    case ExecOp::link_move: return link_move(step, piece);
    case ExecOp::block_wait:
    case ExecOp::block_move: return step_of_block(step, piece, spins);
  }
  return Progress::done;
}

template <bool digests>
template <bool traced>
[[gnu::always_inline]] inline Progress BasicRun<digests>::step_as(const ExecStep& step, std::uint32_t lane, std::uint64_t turn,
                                                                  std::uint64_t piece, std::uint32_t spins) {
  if constexpr (traced) return step_traced(step, lane, turn, piece, spins);
  else return step_once(step, lane, turn, piece, spins);
}

template <bool digests>
Progress BasicRun<digests>::signal(const ExecStep& step, std::uint32_t lane, std::uint64_t turn) {
  if (step.begins && turn == 0) return Progress::done;
  if (step.confirms && !confirmed()) return Progress::blocked;
  crash_point("collective: before a signal");
  LaneLine& line = context_->lane(context_->rank(), lane);
  // pairs with agree() of a peer: whoever sees the digest of a call that isn't its own sees the record of it
  if constexpr (digests) line.digest[parity_].store(flag(), std::memory_order_release);
  tell_release(line);
  // pairs with wait(): acquire of progress publishes the digest and everything this lane wrote before
  line.progress.store((call_ << progress_call_shift) + turn * step.stride + step.position, std::memory_order_release);
  crash_point("collective: signalled");
  context_->wake_peers();
  crash_point("collective: sleepers woken");
  return Progress::done;
}

template <bool digests>
Progress BasicRun<digests>::wait(const ExecStep& step, std::uint64_t piece, std::uint32_t spins) {
  if (piece < step.lag) return Progress::done;
  if (step.begins && piece == step.lag) return step.attaches != 0 && piece == 0 ? attach(step) : Progress::done;
  const std::uint64_t target = (call_ << progress_call_shift) + (piece - step.lag) * step.stride + step.position;
  const LaneLine& line = context_->lane(step.rank, step.lane);
  for (std::uint32_t spin = 0;; ++spin) {
    // pairs with signal(): release of progress
    const std::uint64_t progress = line.progress.load(std::memory_order_acquire);
    if (static_cast<std::int64_t>(progress - target) >= 0) break;  // a difference, so that the call number may wrap
    if (spin >= spins) {
      if (executable_->links) context_->transport().progress();  // what this rank sent to other hosts may be what holds the peer up
      return Progress::blocked;
    }
    context_->claims->ask_or_relax();
  }
  tell_acquire(line);
  crash_point("collective: a signal heard");
  if (digests && step.check_digest && line.digest[parity_].load(std::memory_order_relaxed) != flag()) {
    disagreeing_ = step.rank;
    return Progress::mismatch;
  }
  return step.attaches != 0 && piece == 0 ? attach(step) : Progress::done;
}

template <bool digests>
std::byte* BasicRun<digests>::address(const ExecOperand& operand, std::uint64_t piece) const {
  const Executable& exec = *executable_;
  std::byte* const begin = begin_of(operand);
  if (operand.kind != ExecOperand::slot) return begin + piece * exec.piece_bytes;
  return begin + slot_of(piece) * exec.slot_stride;
}

template <bool digests>
void BasicRun<digests>::move(const ExecStep& step, std::uint64_t piece) {
  const Executable& exec = *executable_;
  const std::uint64_t begin = piece * exec.piece_bytes;
  if (begin >= step.chunk_bytes) return;
  const std::uint64_t bytes = std::min(exec.piece_bytes, step.chunk_bytes - begin);
  if (segments_ != nullptr) [[unlikely]] return move_listed(step, piece, bytes);
  const ExecOperand* operands = &exec.operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  if (step.op == ExecOp::copy) {
    const std::byte* source = address(operands[0], piece);
    for (std::uint32_t i = 1; i < total; ++i)
      if (std::byte* destination = address(operands[i], piece); destination != source) {
        if (bytes <= small_copy_limit) small_copy(destination, source, bytes);
        else if (operands[i].kind == ExecOperand::slot) cpu_publish(destination, source, bytes, operands[i].streamed);
        else if (operands[i].pulled && !(out_of_place_ && operands[i].streamed))
          cpu_pull(destination, source, bytes, begin + bytes < step.chunk_bytes && address(operands[0], piece + 1) == source + bytes);
        else cpu_copy(destination, source, bytes, out_of_place_ && operands[i].streamed);
      }
    return;
  }
  PointerBuffer buffer;
  void** pointers = buffer.get(total);
  StoreHints hints;
  for (std::uint32_t i = 0; i < total; ++i) {
    pointers[i] = address(operands[i], piece);
    if (i - step.sources < 64) hints.add(operands[i], i - step.sources, out_of_place_);
  }
  if (step.destinations > 1 && exec.copies_beat_stores) combine_and_copy(step, pointers, bytes, hints);
  else combine(step, const_cast<const void* const*>(pointers), pointers + step.sources, step.destinations, bytes, hints);
}

/// Several destinations where copies beat stores (StoreTraits): the reduction writes the first one that stays in the
/// caches, a block at a time, and copies take the block to the others.
template <bool digests>
void BasicRun<digests>::combine_and_copy(const ExecStep& step, void** pointers, std::uint64_t bytes, StoreHints hints) {
  constexpr std::uint64_t block_bytes = 16u << 10;  // the block is still in the first cache when it is copied
  auto** destinations = reinterpret_cast<std::byte**>(pointers + step.sources);
  std::uint32_t first = 0;
  while (first + 1 < step.destinations && (hints.streamed >> first & 1) != 0) ++first;
  if ((hints.streamed >> first & 1) != 0)  // none stays there
    return combine(step, const_cast<const void* const*>(pointers), pointers + step.sources, step.destinations, bytes, hints);
  for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
    const std::uint64_t part = std::min(block_bytes, bytes - at);
    combine(step, const_cast<const void* const*>(pointers), pointers + step.sources + first, 1, part, {});
    for (std::uint32_t i = 0; i < step.destinations; ++i) {
      if (i == first) continue;
      if ((hints.streamed >> i & 1) != 0) cpu_copy(destinations[i], destinations[first], part, true);
      else cpu_publish(destinations[i], destinations[first], part);
    }
    for (std::uint32_t i = 0; i < step.sources + step.destinations; ++i) pointers[i] = static_cast<std::byte*>(pointers[i]) + part;
  }
}

template <bool digests>
void BasicRun<digests>::combine(const ExecStep& step, const void* const* sources, void* const* destinations, std::uint32_t destination_count,
                  std::uint64_t bytes, StoreHints hints) {
  const Executable& exec = *executable_;
  KernelCall call;
  call.sources = sources;
  call.destinations = destinations;
  call.source_count = step.sources;
  call.destination_count = destination_count;
  call.count = bytes / exec.element_bytes;
  call.streamed = hints.streamed;
  call.claimed = hints.claimed;
  if (step.finish) call.divisor = exec.divisor;
  if (identity_->op == ReduceOp::premul_sum) {
    for (std::uint32_t i = 0; i < step.sources; ++i)
      if (exec.operands[step.first_operand + i].contribution) call.scaled_sources |= std::uint64_t{1} << i;
    call.scale = scale_;
    // Of integers alone, whose factor was judged with the call's arguments.
    call.integer_scale = integer_scale(scale_);
  }
  exec.kernel(call);
}

}  // namespace rondo

// Calls that are traced: the same loops and steps as any other's, with the clock read around each. run_traced.cpp compiles it.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "executor/run.hpp"
#include "executor/run_steps.hpp"
#include "executor/trace_buffer.hpp"

namespace rondo {

/// The event of a step, but for its times.
template <bool digests>
TraceEvent BasicRun<digests>::event_of(const ExecStep& step, std::uint64_t piece) const {
  TraceEvent event;
  event.call = call_;
  event.piece = piece;
  event.plan = trace_->plan;
  event.lane = step.source_step >> 16;
  event.step = step.source_step & 0xffff;
  const ExecStep* first = &step;
  while (event.step != 0xffff && first != executable_->steps.data() && first[-1].source_step == step.source_step && first[-1].op != ExecOp::once) --first;
  event.chunk = static_cast<std::uint32_t>(&step - first);
  switch (step.op) {
    case ExecOp::signal: event.kind = TraceKind::signal; return event;
    case ExecOp::wait:
    case ExecOp::block_wait: event.kind = TraceKind::wait; return event;
    default: event.kind = step.reduces ? TraceKind::reduce : TraceKind::copy;
  }
  const std::uint64_t begin = piece * executable_->piece_bytes;
  const std::uint64_t length = executable_->by_blocks ? block_of(step).bytes : step.chunk_bytes;
  event.bytes = begin >= length ? 0 : std::min(executable_->piece_bytes, length - begin);
  if (executable_->by_blocks && by_rendezvous(step)) event.bytes = length;
  return event;
}

/// A step with its event. What it had to wait for is looked for as often as `spins` says, at a look each time the clock is read.
template <bool digests>
Progress BasicRun<digests>::step_traced(const ExecStep& step, std::uint32_t lane, std::uint64_t turn, std::uint64_t piece, std::uint32_t spins) {
  if (step.op == ExecOp::once) return step_once(step, lane, turn, piece, 0);  // no event: the copy behind it has one
  std::int64_t& since = trace_->blocked_since_ns[lane];
  for (std::uint32_t spin = 0;; ++spin) {
    const std::int64_t begin = now_ns();
    const Progress progress = step_once(step, lane, turn, piece, 0);
    if (progress == Progress::done) {
      const bool of_block = step.op == ExecOp::block_wait || step.op == ExecOp::block_move || step.op == ExecOp::link_move;
      if (!(executable_->by_blocks && of_block && ended(step, piece))) record(step, piece, since, begin);
      since = 0;
      return progress;
    }
    if (since == 0) since = begin;
    if (progress == Progress::mismatch || spin >= spins) return progress;
    context_->claims->ask_or_relax();
  }
}

/// What a step did that has just ended, at a look that began at `begin`; it was blocked since `since` or, if that is 0, not at all.
template <bool digests>
void BasicRun<digests>::record(const ExecStep& step, std::uint64_t piece, std::int64_t since, std::int64_t begin) {
  TraceEvent event = event_of(step, piece);
  const bool waits = event.kind == TraceKind::wait;
  if (waits) {
    event.begin_ns = since != 0 ? since : begin;
    event.end_ns = since != 0 ? now_ns() : begin;
    return trace_->buffer->add(event);
  }
  if (since != 0) {
    TraceEvent stall = event;
    stall.kind = TraceKind::stall;
    stall.bytes = 0;
    stall.begin_ns = since;
    stall.end_ns = begin;
    trace_->buffer->add(stall);
  }
  event.begin_ns = begin;
  event.end_ns = now_ns();
  trace_->buffer->add(event);
}

/// The end of a time in which the call could not begin, or could not end.
template <bool digests>
void BasicRun<digests>::record_outside(std::int64_t end) {
  if (trace_->outside_since_ns == 0) return;
  TraceEvent stall;
  stall.kind = TraceKind::stall;
  stall.call = call_;
  stall.plan = trace_->plan;
  stall.step = TraceEvent::no_step;
  stall.begin_ns = trace_->outside_since_ns;
  stall.end_ns = end;
  trace_->buffer->add(stall);
  trace_->outside_since_ns = 0;
}

template <bool digests>
Progress BasicRun<digests>::advance_traced(std::uint32_t spins, RunTrace& trace) {
  trace_ = &trace;
  const std::int64_t begin = now_ns();
  const auto outside = [&](std::int64_t since) {
    if (trace.outside_since_ns == 0) trace.outside_since_ns = since;
    return Progress::blocked;
  };
  if (!entered_) {
    if (!enter()) return outside(begin);
    record_outside(begin);
  }
  if (!agreed_) {
    const Progress agreed = agree(spins);
    if (agreed == Progress::blocked) return outside(begin);
    if (agreed != Progress::done) return agreed;
    record_outside(now_ns());
  }
  const Progress progress = executable_->straight ? advance_straight<true>(spins) : advance_lanes<true>(spins);
  if (progress != Progress::done) return progress;
  if (lingers()) {
    const std::int64_t end = now_ns();
    if (!may_end(spins)) return outside(end);
    record_outside(end);
  }
  finish();
  return Progress::done;
}

}  // namespace rondo

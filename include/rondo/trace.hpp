/// @defgroup traces Traces
/// What ranks did in their calls, step by step, with times: what Communicator::start_trace() begins to record.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// The C++ interface of Rondo.
namespace rondo {
/// @addtogroup traces
/// @{

/// What an event is. The first four are steps of the plan; a stall is time in which no step could go on though no wait step says so.
enum class TraceKind : std::uint8_t {
  copy,    ///< a copy of the plan
  reduce,  ///< a reduction of the plan
  signal,  ///< a signal of the plan; inlined plans signal as they copy, and have no such events
  wait,    ///< a wait of the plan, from the first look that found nothing; without duration when nothing had to be waited for
  stall,   ///< a copy or reduce before its data or its room was there (inlined plans, messages), or one call before the next (no_step)
};

/// One step done for one piece, or a stall.
struct TraceEvent {
  static constexpr std::uint32_t no_step = 0xffffffff;  ///< a stall before the first step (for peers) or after the last (for messages)

  std::int64_t begin_ns = 0;   ///< of CLOCK_MONOTONIC, which all processes of a machine share
  std::int64_t end_ns = 0;     ///< of the same
  std::uint64_t call = 0;      ///< the number of the call among those of the communicator, or of the pair of ranks, from 1
  std::uint64_t piece = 0;     ///< of the message, from 0
  std::uint64_t bytes = 0;     ///< of copy and reduce: length of the piece in each of the step's operands
  std::uint32_t plan = 0;      ///< index into Trace::plans
  std::uint32_t lane = 0;      ///< of the plan
  std::uint32_t step = 0;      ///< its place in the lane, or no_step; steps from number 65535 on count as that one
  std::uint32_t chunk = 0;     ///< operands of several chunks make one event each: which one it is, from 0
  TraceKind kind = TraceKind::copy;  ///< what it is
};

/// A plan that calls ran, as one rank saw it.
struct TracePlan {
  static constexpr std::uint32_t no_peer = 0xffffffff;  ///< it serves a collective

  std::string call;                              ///< "all_reduce of 1024 f32 (sum)"
  std::string algorithm;                         ///< its name
  std::uint32_t peer = no_peer;                  ///< of a message: the other rank
  bool receives = false;                         ///< of a message: it is from that rank
  std::vector<std::vector<std::string>> lanes;   ///< by lane and step of the lowered plan: the step as describe() says it
};

/// What one rank recorded. A plain value: nothing in it belongs to a communicator.
struct Trace {
  std::uint32_t rank = 0;            ///< whose
  std::vector<TracePlan> plans;      ///< those that the calls ran
  std::vector<TraceEvent> events;    ///< those of one lane of a communicator in the order of time
  std::uint64_t dropped = 0;         ///< how many more there were than room for them

  /// Takes over what the same rank recorded later.
  void append(Trace later);
};

/// The events of one rank for trace_file(), as JSON objects. Text, so that ranks can send it to the one that writes the file.
std::string trace_events(const Trace& trace);

/// A file in Chrome's trace format, which ui.perfetto.dev and chrome://tracing open: a process for each rank, a thread for each lane, times in
/// microseconds. `ranks` are the texts that trace_events() made of each. Says of each rank how many events were dropped.
std::string trace_file(std::span<const std::string> ranks);

/// "copy", ...
std::string to_string(TraceKind kind);

/// @}
}  // namespace rondo

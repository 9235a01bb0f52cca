// Traces as the JSON that Perfetto opens.
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "rondo/trace.hpp"

namespace rondo {
namespace {

std::string in_json(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

/// Nanoseconds as microseconds.
std::string microseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
  return text;
}

/// The thread that an event stands in: lanes of collectives first, then those of messages, by peer and direction.
std::uint64_t track_of(const TracePlan& plan, const TraceEvent& event) {
  constexpr std::uint64_t lanes = 1u << 16;
  return plan.peer == TracePlan::no_peer ? event.lane : lanes * (1 + 2 * std::uint64_t{plan.peer} + (plan.receives ? 1 : 0)) + event.lane;
}

std::string track_name(const TracePlan& plan, const TraceEvent& event) {
  const std::string lane = "lane " + std::to_string(event.lane);
  if (plan.peer == TracePlan::no_peer) return lane;
  return (plan.receives ? "from rank " : "to rank ") + std::to_string(plan.peer) + ", " + lane;
}

/// One entry that says something of a process or thread.
std::string metadata(std::uint32_t rank, std::uint64_t track, const char* what, const std::string& arguments) {
  return "{\"ph\":\"M\",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(track) + ",\"name\":\"" + what + "\",\"args\":{" + arguments + "}}";
}

/// What all events of a plan have in common, made once.
struct Words {
  std::string of;                               ///< the end of their arguments
  std::vector<std::vector<std::string>> steps;  ///< quoted, without the quotation marks

  explicit Words(const TracePlan& plan) : of(",\"of\":" + in_json(plan.call) + ",\"algorithm\":" + in_json(plan.algorithm) + "}}") {
    for (const auto& lane : plan.lanes) {
      auto& words = steps.emplace_back();
      for (const std::string& step : lane) {
        const std::string text = in_json(step);
        words.push_back(text.substr(1, text.size() - 2));
      }
    }
  }

  std::string name(const TraceEvent& event) const {
    if (event.step == TraceEvent::no_step) return "between calls";
    const std::string step = event.step == 0xffff ? "step 65535 or a later one" : steps.at(event.lane).at(event.step);
    return event.kind == TraceKind::stall ? "stalled: " + step : step;
  }
};

std::string text_of(const Trace& trace, const TraceEvent& event, const Words& words) {
  std::string text = "{\"ph\":\"X\",\"pid\":" + std::to_string(trace.rank) + ",\"tid\":" + std::to_string(track_of(trace.plans[event.plan], event)) +
                     ",\"ts\":" + microseconds(event.begin_ns) + ",\"dur\":" + microseconds(event.end_ns - event.begin_ns) + ",\"cat\":\"" +
                     to_string(event.kind) + "\",\"name\":\"" + words.name(event) + "\",\"args\":{\"call\":" + std::to_string(event.call);
  if (event.step != TraceEvent::no_step)
    text += ",\"step\":" + std::to_string(event.step) + ",\"chunk\":" + std::to_string(event.chunk) + ",\"piece\":" + std::to_string(event.piece) +
            ",\"bytes\":" + std::to_string(event.bytes);
  return text + words.of;
}

}  // namespace

std::string to_string(TraceKind kind) {
  constexpr const char* names[] = {"copy", "reduce", "signal", "wait", "stall"};
  return names[static_cast<std::size_t>(kind)];
}

void Trace::append(Trace later) {
  const auto first = static_cast<std::uint32_t>(plans.size());
  for (TraceEvent& event : later.events) event.plan += first;
  plans.insert(plans.end(), std::make_move_iterator(later.plans.begin()), std::make_move_iterator(later.plans.end()));
  events.insert(events.end(), later.events.begin(), later.events.end());
  dropped += later.dropped;
}

std::string trace_events(const Trace& trace) {
  std::string name = "rank " + std::to_string(trace.rank);
  if (trace.dropped != 0) name += ", " + std::to_string(trace.dropped) + " events dropped";
  std::string text = metadata(trace.rank, 0, "process_name", "\"name\":" + in_json(name) + ",\"dropped_events\":" + std::to_string(trace.dropped));
  text += ",\n" + metadata(trace.rank, 0, "process_sort_index", "\"sort_index\":" + std::to_string(trace.rank));
  std::vector<Words> words(trace.plans.begin(), trace.plans.end());
  std::set<std::uint64_t> tracks;
  for (const TraceEvent& event : trace.events) {
    const TracePlan& plan = trace.plans[event.plan];
    if (const std::uint64_t track = track_of(plan, event); tracks.insert(track).second) {
      text += ",\n" + metadata(trace.rank, track, "thread_name", "\"name\":" + in_json(track_name(plan, event)));
      text += ",\n" + metadata(trace.rank, track, "thread_sort_index", "\"sort_index\":" + std::to_string(track));
    }
    text += ",\n" + text_of(trace, event, words[event.plan]);
  }
  return text;
}

std::string trace_file(std::span<const std::string> ranks) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) text += (rank == 0 ? "\n" : ",\n") + ranks[rank];
  return text + "\n]}\n";
}

}  // namespace rondo

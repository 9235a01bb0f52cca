#include "communicator/flight_recorder.hpp"

#include <algorithm>

namespace rondo {
namespace {

const char* name_of(FlightRecorder::State state) {
  switch (state) {
    case FlightRecorder::State::queued: return "queued";
    case FlightRecorder::State::running: return "running";
    case FlightRecorder::State::done: return "done";
    case FlightRecorder::State::failed: return "failed";
  }
  return "?";
}

}  // namespace

std::string describe(const CallIdentity& identity) {
  std::string text{to_string(identity.collective)};
  if (identity.collective == Collective::barrier) return text;
  if (identity.collective == Collective::all_to_all_v) return text + " of " + std::string(to_string(identity.type));  // each pair has a count of its own
  text += " of " + std::to_string(identity.count) + " " + std::string(to_string(identity.type));
  if (is_reduction(identity.collective)) text += " (" + std::string(to_string(identity.op)) + ")";
  if (is_rooted(identity.collective)) {
    const bool from_root = identity.collective == Collective::broadcast || identity.collective == Collective::scatter;
    text += (from_root ? " from rank " : " to rank ") + std::to_string(identity.root);
  }
  if (identity.collective == Collective::send_recv && identity.root != 0) text += " with tag " + std::to_string(identity.root);
  if (identity.wire) text += " by way of " + std::string(to_string(*identity.wire));
  if (identity.in_place) text += " in place";
  if (identity.symmetric) text += " in symmetric memory";
  return text;
}

std::optional<CallIdentity> FlightRecorder::collective(std::uint64_t call) const {
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(written_, entries_.size()); ++i)
    if (entries_[i].call == call && entries_[i].peer == 0) return entries_[i].identity;
  return std::nullopt;
}

std::string FlightRecorder::print() const {
  std::string lines;
  const std::uint64_t first = written_ > entries_.size() ? written_ - entries_.size() : 0;
  for (std::uint64_t i = first; i < written_; ++i) {
    const Entry& entry = entries_[i % entries_.size()];
    lines += "#" + std::to_string(entry.call) + " " + describe(entry.identity);
    if (entry.peer != 0) lines += " with rank " + std::to_string(entry.peer - 1);
    lines += " by " + std::string(entry.algorithm.data()) + ": " + name_of(entry.state);
    if (entry.slow_ns != 0) lines += " (waited " + std::to_string(entry.slow_ns / 1000) + " us)";
    lines += "\n";
  }
  return lines;
}

}  // namespace rondo

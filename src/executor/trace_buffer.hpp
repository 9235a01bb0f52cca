// Where a traced call leaves its events, and what it remembers between two turns of its crank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rondo/trace.hpp"

namespace rondo {

/// Memory for so many events, all of it taken and touched at once: recording allocates nothing and faults no page. What doesn't fit is counted.
class TraceBuffer {
 public:
  explicit TraceBuffer(std::uint64_t capacity) : events_(capacity) {}

  void add(const TraceEvent& event) {
    if (used_ < events_.size()) events_[used_++] = event;
    else ++dropped_;
  }
  bool full() const { return used_ == events_.size(); }
  std::uint64_t dropped() const { return dropped_; }

  /// The events, which the buffer then no longer has.
  std::vector<TraceEvent> take() {
    events_.resize(used_);
    return std::move(events_);
  }

 private:
  std::vector<TraceEvent> events_;
  std::uint64_t used_ = 0;
  std::uint64_t dropped_ = 0;
};

/// What tracing knows of the call that a context runs.
struct RunTrace {
  TraceBuffer* buffer = nullptr;
  std::uint64_t call = 0;                   ///< it runs now, or ran last
  std::uint32_t plan = 0;                   ///< its index among the trace's
  std::int64_t outside_since_ns = 0;        ///< since when it can't begin, or not end; 0: it can
  std::vector<std::int64_t> blocked_since_ns;  ///< by lane: since when its step can't go on; 0: it can

  void begin(std::uint64_t number, std::uint32_t its_plan, std::size_t lanes) {
    call = number;
    plan = its_plan;
    outside_since_ns = 0;
    blocked_since_ns.assign(lanes, 0);
  }
};

}  // namespace rondo

#include "formats/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>

namespace rondo::formats {
namespace {

constexpr std::size_t no_step = std::numeric_limits<std::size_t>::max();

struct LaneState {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  const std::vector<Step>* steps = nullptr;
  std::size_t first = 0;             // number of its first step among all steps
  std::uint32_t next = 0;            // the step it stands at
  std::vector<std::size_t> signals;  // numbers of its signal steps
};

struct Link {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::vector<std::size_t> waiting;  // lanes
};

class Scheduler {
 public:
  Scheduler(const std::vector<Program>& programs, std::uint32_t depth) : programs_(programs), depth_(depth) {
    std::size_t steps = 0;
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      first_lane_.push_back(lanes_.size());
      for (std::uint32_t lane = 0; lane < programs[rank].lanes.size(); ++lane) {
        LaneState state{rank, lane, &programs[rank].lanes[lane].steps, steps, 0, {}};
        for (std::size_t s = 0; s < state.steps->size(); ++s) {
          if ((*state.steps)[s].kind == StepKind::signal) state.signals.push_back(steps + s);
        }
        steps += state.steps->size();
        lanes_.push_back(std::move(state));
      }
    }
    done_.resize(steps, false);
    waiting_.resize(steps);
  }

  Schedule run() {
    Schedule result;
    result.order.reserve(done_.size());
    for (std::size_t lane = lanes_.size(); lane > 0; --lane) ready_.push_back(lane - 1);
    while (!ready_.empty()) {
      const std::size_t lane = ready_.back();
      ready_.pop_back();
      while (advance(lane)) result.order.push_back({lanes_[lane].rank, lanes_[lane].lane, lanes_[lane].next - 1});
    }
    for (const LaneState& lane : lanes_) {
      for (std::uint32_t s = lane.next; s < lane.steps->size(); ++s) {
        result.complete = false;
        result.order.push_back({lane.rank, lane.lane, s});
      }
    }
    return result;
  }

 private:
  bool advance(std::size_t index) {
    LaneState& lane = lanes_[index];
    if (lane.next >= lane.steps->size()) return false;
    const Step& step = (*lane.steps)[lane.next];
    for (const After& after : step.after) {
      if (!passed(index, step_number(lane.rank, after))) return false;
    }
    if (step.kind == StepKind::wait && step.wait.lag == 0 && !passed(index, signal_number(step.wait))) return false;
    if (!links_ready(index, lane.rank, step)) return false;
    move_messages();
    const std::size_t number = lane.first + lane.next++;
    done_[number] = true;
    for (const std::size_t other : waiting_[number]) ready_.push_back(other);
    waiting_[number].clear();
    return true;
  }

  bool passed(std::size_t lane, std::size_t number) {
    if (number == no_step) return false;
    if (!done_[number]) waiting_[number].push_back(lane);
    return done_[number];
  }

  /// Notes the links of the step's operands.
  bool links_ready(std::size_t lane, std::uint32_t rank, const Step& step) {
    received_.clear();
    sent_.clear();
    for (const Operand& source : step.sources) {
      if (source.buffer != Buffer::link) continue;
      Link& link = links_[key(source.rank, rank, source.index)];
      received_.push_back(&link);
      if (link.sent > link.received) continue;
      link.waiting.push_back(lane);
      return false;
    }
    for (const Operand& destination : step.destinations) {
      if (destination.buffer != Buffer::link) continue;
      Link& link = links_[key(rank, destination.rank, destination.index)];
      sent_.push_back(&link);
      if (depth_ == unbounded || link.sent - link.received < depth_) continue;
      link.waiting.push_back(lane);
      return false;
    }
    return true;
  }

  void move_messages() {
    for (Link* const link : received_) wake(*link, &Link::received);
    for (Link* const link : sent_) wake(*link, &Link::sent);
  }

  void wake(Link& link, std::uint64_t Link::*counter) {
    ++(link.*counter);
    ready_.insert(ready_.end(), link.waiting.begin(), link.waiting.end());
    link.waiting.clear();
  }

  // Ranks and channels of imported plans stay below 2^16, so that the three numbers fit one word.
  static std::uint64_t key(std::uint64_t sender, std::uint64_t receiver, std::uint64_t channel) {
    return sender << 42 | receiver << 21 | channel;
  }

  std::size_t step_number(std::uint32_t rank, const After& after) const {
    if (after.lane >= programs_[rank].lanes.size()) return no_step;
    const LaneState& lane = lanes_[first_lane_[rank] + after.lane];
    return after.step < lane.steps->size() ? lane.first + after.step : no_step;
  }

  std::size_t signal_number(const WaitFor& wait) const {
    if (wait.rank >= programs_.size() || wait.lane >= programs_[wait.rank].lanes.size()) return no_step;
    const LaneState& lane = lanes_[first_lane_[wait.rank] + wait.lane];
    return wait.signal < lane.signals.size() ? lane.signals[wait.signal] : no_step;
  }

  const std::vector<Program>& programs_;
  const std::uint32_t depth_;
  std::vector<LaneState> lanes_;
  std::vector<std::size_t> first_lane_;            // of each rank
  std::vector<bool> done_;                         // by step number
  std::vector<std::vector<std::size_t>> waiting_;  // lanes, by step number
  std::unordered_map<std::uint64_t, Link> links_;
  std::vector<Link*> received_, sent_;  // those of the step that is looked at
  std::vector<std::size_t> ready_;
};

}  // namespace

Schedule schedule(const std::vector<Program>& programs, std::uint32_t link_depth) {
  return Scheduler(programs, link_depth).run();
}

std::uint32_t safe_depth(const std::vector<Program>& programs, std::uint32_t wanted) {
  const auto safe = [&](std::uint32_t depth) { return schedule(programs, depth).complete; };
  if (safe(wanted) || !safe(unbounded)) return wanted;
  std::uint32_t low = wanted;  // not safe
  std::uint32_t high = 2 * wanted;
  while (!safe(high)) low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (safe(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace rondo::formats

#include "verifier/walk.hpp"

#include <algorithm>

namespace rondo::verifier {

Walk::Walk(const Image& image, std::uint32_t pieces, std::uint64_t depth)
    : image_(image),
      pieces_(pieces),
      depth_(depth),
      cursors_(image.lanes()),
      ends_(image.lanes()),
      waiters_(image.lanes()),
      traffic_(image.links.size()),
      waits_on_(image.lanes(), none),
      asleep_(image.lanes(), false) {
  for (std::uint32_t lane = 0; lane < image.lanes(); ++lane) {
    cursors_[lane] = {image.lane_low[lane], image.lane_steps[lane]};
    ends_[lane] = image.lane_low[lane] + static_cast<std::uint32_t>(image.turns(lane, pieces));
    if (image.lane_steps[lane] == image.lane_steps[lane + 1]) cursors_[lane].turn = ends_[lane];
  }
}

bool Walk::run(Observer* observer) {
  for (std::uint32_t lane = image_.lanes(); lane-- > 0;) awake_.push_back(lane);
  while (!awake_.empty()) {
    const std::uint32_t lane = awake_.back();
    awake_.pop_back();
    advance(lane, observer);
    if (observer != nullptr && observer->has_enough()) return true;
    // Whoever waits for something this lane has passed by now.
    std::vector<Waiter>& waiters = waiters_[lane];
    const Cursor& at = cursors_[lane];
    while (!waiters.empty() &&
           (waiters.front().turn < at.turn || (waiters.front().turn == at.turn && waiters.front().step < at.step))) {
      wake(waiters.front().lane);
      std::pop_heap(waiters.begin(), waiters.end());
      waiters.pop_back();
    }
  }
  for (std::uint32_t lane = 0; lane < image_.lanes(); ++lane)
    if (!ended(lane)) return false;
  return true;
}

void Walk::wake(std::uint32_t lane) {
  if (!asleep_[lane]) return;
  asleep_[lane] = false;
  awake_.push_back(lane);
}

void Walk::advance(std::uint32_t lane, Observer* observer) {
  Cursor& at = cursors_[lane];
  const std::uint32_t end = image_.lane_steps[lane + 1];
  while (at.turn < ends_[lane]) {
    for (; at.step < end; ++at.step) {
      const FlatStep& step = image_.steps[at.step];
      if (at.turn < step.skew || at.turn - step.skew >= pieces_) continue;
      const std::uint32_t piece = at.turn - step.skew;
      if (!ready(lane, step, piece)) {
        asleep_[lane] = true;
        return;
      }
      if (!traffic_.empty()) pass_messages(step);
      if (observer != nullptr) observer->step(lane, at.step, piece);
    }
    ++at.turn;
    at.step = image_.lane_steps[lane];
    if (observer != nullptr && observer->has_enough()) return;
  }
}

bool Walk::passed(std::uint32_t waiter, std::uint32_t lane, std::uint32_t step, std::uint32_t turn) {
  const Cursor& at = cursors_[lane];
  if (at.turn > turn || (at.turn == turn && at.step > step)) return true;
  waits_on_[waiter] = lane;
  waiters_[lane].push_back({turn, step, waiter});
  std::push_heap(waiters_[lane].begin(), waiters_[lane].end());
  return false;
}

bool Walk::ready(std::uint32_t lane, const FlatStep& step, std::uint32_t piece) {
  for (std::uint32_t a = step.first_after; a < (&step + 1)->first_after; ++a) {
    const FlatAfter& after = image_.afters[a];
    if (!passed(lane, after.lane, after.step, piece + image_.steps[after.step].skew)) return false;
  }
  if (step.kind == StepKind::wait)
    return piece < step.count || passed(lane, step.target_lane, step.first, piece - step.count + step.target_skew);
  return step.kind == StepKind::signal || traffic_.empty() || links_ready(lane, step);
}

bool Walk::links_ready(std::uint32_t lane, const FlatStep& step) {
  for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    if (operand.buffer != Buffer::link) continue;
    const Traffic& traffic = traffic_[operand.rank];
    const bool receives = k < step.sources;
    if (receives ? traffic.sent > traffic.received : traffic.sent - traffic.received < depth_) continue;
    const Link& link = image_.links[operand.rank];
    waits_on_[lane] = receives ? link.sender : link.receiver;
    return false;
  }
  return true;
}

void Walk::pass_messages(const FlatStep& step) {
  for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    if (operand.buffer != Buffer::link) continue;
    const bool receives = k < step.sources;
    ++(receives ? traffic_[operand.rank].received : traffic_[operand.rank].sent);
    const Link& link = image_.links[operand.rank];
    // A lane that sleeps for another reason wakes in vain and sleeps again.
    const std::uint32_t other = receives ? link.sender : link.receiver;
    const std::uint32_t own = receives ? link.receiver : link.sender;
    if (other != none && waits_on_[other] == own) wake(other);
  }
}

std::vector<Blocked> Walk::circle() const {
  std::uint32_t lane = 0;
  while (ended(lane)) ++lane;
  std::vector<std::uint32_t> seen_at(image_.lanes(), none);
  std::vector<std::uint32_t> path;
  while (lane != none && !ended(lane) && seen_at[lane] == none) {
    seen_at[lane] = static_cast<std::uint32_t>(path.size());
    path.push_back(lane);
    lane = waits_on_[lane];
  }
  const std::uint32_t first = lane == none || ended(lane) ? 0 : seen_at[lane];
  path.erase(path.begin(), path.begin() + first);
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  std::vector<Blocked> circle;
  for (const std::uint32_t l : path)
    circle.push_back({cursors_[l].step, cursors_[l].turn - image_.steps[cursors_[l].step].skew, waits_on_[l]});
  return circle;
}

}  // namespace rondo::verifier

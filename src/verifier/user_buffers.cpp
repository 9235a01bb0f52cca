#include "verifier/user_buffers.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rondo::verifier {
namespace {

/// Whether the lane knows that the rank has begun.
bool knows_begin(const Image& image, const Clocks& clocks, std::uint32_t lane, std::uint32_t rank) {
  for (std::uint32_t other = image.first_whole_lane(rank); other < image.first_whole_lane(rank + 1); ++other)
    if (lane == other || clocks.knows(lane, other, 1)) return true;
  return false;
}

}  // namespace

std::string UserBuffers::touched(std::uint32_t number, std::uint32_t owner) const {
  const FlatStep& step = image_.steps[number];
  for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    const bool user = operand.buffer == Buffer::input || operand.buffer == Buffer::output;
    if (user && operand.rank == owner)
      return (k < step.sources ? "reads " : "writes ") + chunk_name(operand.buffer, owner, operand.index, none);
  }
  return {};
}

void UserBuffers::step(std::uint32_t lane, std::uint32_t number) {
  const FlatStep& step = image_.steps[number];
  const std::uint32_t own = image_.lane_rank[lane];
  for (std::uint32_t k = 0; k < std::uint32_t{step.sources} + step.destinations; ++k) {
    const FlatOperand& operand = image_.operands[step.first + k];
    const bool user = operand.buffer == Buffer::input || operand.buffer == Buffer::output;
    if (!user || operand.rank == own) continue;
    last_[std::uint64_t{lane} << 32 | operand.rank] = {clocks_.event(lane), number};
    if (!knows_begin(image_, clocks_, lane, operand.rank))
      report_.add(Fault::race, number,
                  touched(number, operand.rank) + " before rank " + std::to_string(operand.rank) +
                      " is known to have begun the call");
  }
}

void UserBuffers::end() {
  std::vector<std::pair<std::uint64_t, Touch>> touches(last_.begin(), last_.end());
  std::sort(touches.begin(), touches.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, touch] : touches) {
    const auto lane = static_cast<std::uint32_t>(key >> 32);
    const auto owner = static_cast<std::uint32_t>(key);
    bool known = false;
    const std::uint32_t held = image_.shifts ? 0 : owner;
    const std::uint32_t toucher = image_.moved_lane(image_.inverse(owner), lane);  // as the owner numbers it
    for (std::uint32_t l = image_.rank_lanes[held]; l < image_.rank_lanes[held + 1]; ++l) known |= clocks_.knows(l, toucher, touch.event);
    if (!known)
      report_.add(
          Fault::race, touch.step,
          touched(touch.step, owner) + ", which rank " + std::to_string(owner) + " doesn't wait for before it ends");
  }
}

void check_barrier(const Image& image, const Clocks& clocks, Report& report) {
  for (std::uint32_t rank = 0; rank < image.held_ranks() && !report.full(); ++rank)
    for (std::uint32_t other = 0; other < image.header.ranks && !report.full(); ++other) {
      if (rank == other) continue;
      bool known = false;
      for (std::uint32_t l = image.rank_lanes[rank]; l < image.rank_lanes[rank + 1] && !known; ++l)
        known = knows_begin(image, clocks, l, other);
      if (!known)
        report.add_rank(Fault::postcondition, rank,
                        "can leave the barrier before rank " + std::to_string(other) + " has entered it");
    }
}

}  // namespace rondo::verifier

// What is moved along groups: from one group to another once, and spread inside.
#include "planner/hierarchical.hpp"

namespace rondo::planner::hierarchical {
namespace {

/// A leader reads the leader of the next larger group, and the leaders of the smaller ones inside read it; or the other way round. A lane's one signal says
/// to those behind that a piece is there, and to those before that it was read, so that its slot is free again.
class Led {
 public:
  Led(const PlanHeader& header, std::uint32_t rank)
      : header_(header), place_(header, rank), root_(header, header.root), level_(place_.leads(root_)), is_root_(rank == header.root) {}

  bool is_root() const { return is_root_; }
  bool leads() const { return level_ != 0; }
  std::uint32_t leader() const { return place_.counterpart(level_ + 1, root_); }  ///< of the group that the own one lies in; not the root's
  std::uint32_t group() const { return place_.unit(level_); }                      ///< ranks that the rank leads, itself among them
  std::uint32_t own() const { return place_.first(0) - place_.first(level_); }     ///< its place in its group

  /// Where the own group's blocks lie in its leader's scratch, which holds those of all that this one leads.
  std::uint32_t in_leaders() const {
    const Place theirs(header_, leader());
    return place_.first(level_) - theirs.first(theirs.leads(root_));
  }

  /// Visits the leaders of the smaller groups inside, nearest first.
  template <class Visitor>
  void for_led(Visitor&& visit) const {
    for (std::uint32_t level = 0; level < level_; ++level) for_fellows(place_, level, visit);
  }

  /// Positions of the own group that follow one another, as do their ranks: `visit(position in the group, rank, count)`.
  template <class Visitor>
  void for_runs(std::uint32_t first, std::uint32_t count, Visitor&& visit) const {
    const std::uint32_t start = place_.first(level_);
    for (std::uint32_t k = 0, next; k < count; k = next) {
      const std::uint32_t block = place_.at(start + first + k);
      for (next = k + 1; next < count && place_.at(start + first + next) == block + (next - k);) ++next;
      visit(first + k, block, next - k);
    }
  }

 private:
  const PlanHeader& header_;
  Place place_, root_;
  std::uint32_t level_;
  bool is_root_;
};

}  // namespace

/// Scratch holds the blocks of those who are in the own place in the smallest groups, a chunk for each of these groups. The last level's are for the
/// output alone.
Program all_gather(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  const auto slot = [&](std::uint32_t position) { return position / place.unit(1); };
  LaneBuilder lane;
  lane.copy(input(0), {scratch(slot(place.first(1))), output(rank)});
  lane.signal();
  for (std::uint32_t level = place.levels(); level-- > 0;) {
    const std::uint32_t signal = place.levels() - 1 - level;
    ++lane.skew;
    for_fellows(place, level, [&](std::uint32_t fellow) {
      lane.wait(fellow, signal);
      for (const std::uint32_t position : Place(header, fellow).column(level + 1)) {
        Operands to{output(place.at(position))};
        if (level != 0) to.push_back(scratch(slot(position)));
        lane.copy(scratch_of(fellow, slot(position)), std::move(to));
      }
    });
    if (level != 0) lane.signal();
  }
  return lane.take_program();
}

Program broadcast(const PlanHeader& header, std::uint32_t rank) {
  const Led led(header, rank);
  LaneBuilder lane;
  led.for_led([&](std::uint32_t reader) { lane.wait(reader, 0, header.depth); });
  Operands to{output(0)};
  if (led.leads()) to.push_back(scratch(0));
  if (!led.is_root()) lane.wait(led.leader(), 0);
  lane.copy(led.is_root() ? input(0) : scratch_of(led.leader(), 0), std::move(to));
  lane.signal();
  return lane.take_program();
}

/// A leader's scratch holds its group's blocks, in the order of their places.
Program gather(const PlanHeader& header, std::uint32_t rank) {
  const Led led(header, rank);
  LaneBuilder lane;
  if (led.is_root()) {
    lane.copy(input(0), {output(rank)});
  } else {
    lane.wait(led.leader(), 0, header.depth);
    lane.copy(input(0), {scratch(led.own())});
  }
  led.for_led([&](std::uint32_t from) {
    const Led theirs(header, from);
    lane.wait(from, 0);
    if (!led.is_root()) return lane.copy(scratch_of(from, 0, theirs.group()), {scratch(theirs.in_leaders(), theirs.group())});
    theirs.for_runs(0, theirs.group(), [&](std::uint32_t first, std::uint32_t block, std::uint32_t count) {
      lane.copy(scratch_of(from, first, count), {output(block, count)});
    });
  });
  lane.signal();
  return lane.take_program();
}

/// The other way round. What is a leader's own goes straight to its output.
Program scatter(const PlanHeader& header, std::uint32_t rank) {
  const Led led(header, rank);
  const std::uint32_t behind = led.own() + 1;
  LaneBuilder lane;
  led.for_led([&](std::uint32_t reader) { lane.wait(reader, 0, header.depth); });
  if (led.is_root()) {
    const auto lay = [&](std::uint32_t first, std::uint32_t block, std::uint32_t count) { lane.copy(input(block, count), {scratch(first, count)}); };
    led.for_runs(0, led.own(), lay);
    led.for_runs(behind, led.group() - behind, lay);
    lane.signal();
    lane.copy(input(rank), {output(0)});
    return lane.take_program();
  }
  const std::uint32_t from = led.leader(), there = led.in_leaders();
  lane.wait(from, 0);
  if (led.own() != 0) lane.copy(scratch_of(from, there, led.own()), {scratch(0, led.own())});
  if (behind != led.group()) lane.copy(scratch_of(from, there + behind, led.group() - behind), {scratch(behind, led.group() - behind)});
  lane.copy(scratch_of(from, there + led.own()), {output(0)});
  lane.signal();
  return lane.take_program();
}

/// A rank has heard of all of its group of unit(s) when it gives signal s.
Program barrier(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  LaneBuilder lane;
  for (std::uint32_t level = 0; level < place.levels(); ++level) {
    lane.signal();
    for_fellows(place, level, [&](std::uint32_t fellow) { lane.wait(fellow, level); });
  }
  return lane.take_program();
}

}  // namespace rondo::planner::hierarchical

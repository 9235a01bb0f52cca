// A reduction's shares are dealt out inside each group (a box, a host), and each goes along its rail by halving and doubling over some pairing of the groups:
// few rounds where there are many. As much crosses between groups as in `rail`, where their number is a power of two; but one piece after another, so that
// it is for messages that aren't long.
//
// Pairs says who meets whom among 2^n members, as halving.hpp wants it: it is made of the number of members and the own one among them.
#pragma once

#include "planner/folded_group.hpp"
#include "planner/halving.hpp"
#include "planner/rails.hpp"

namespace rondo::planner::rail_pairs {

/// The members of a rail, of which this rank is one: all of them begin with their group's sum in their output.
template <class Pairs>
struct RailGroup {
  RailGroup(const RailPlace& own) : place(own), fold(own.groups, own.number), pairs(fold.members, fold.number) {}
  std::uint32_t rounds() const { return pairs.rounds(); }
  std::uint32_t partner(std::uint32_t round) const { return place.rank_of(fold.rank_of(pairs.partner(round)), place.seat); }
  bool is_upper(std::uint32_t round) const { return pairs.is_upper(round); }
  std::uint32_t next() const { return place.rank_of(place.number + 1, place.seat); }
  std::uint32_t previous() const { return place.rank_of(place.number - 1, place.seat); }

  static constexpr bool folded = true;
  const RailPlace& place;
  FoldedGroup fold;
  Pairs pairs;  // of those whom folding leaves
};

/// Everyone's part of each share to who has that seat.
inline void deal(const RailPlace& place, std::uint32_t parts, LaneBuilder& lane) {
  Operands sources;
  for (std::uint32_t k = 1; k < place.group; ++k) {
    const std::uint32_t seat = (place.seat + k) % place.group;
    lane.copy(input(seat * parts, parts), {link(place.rank_of(place.number, seat), 0, parts)});
  }
  for (std::uint32_t k = place.group - 1; k > 0; --k) sources.push_back(link(place.rank_of(place.number, (place.seat + k) % place.group), 0, parts));
  sources.push_back(input(place.seat * parts, parts));
  lane.reduce(std::move(sources), {output(place.seat * parts, parts)}, false);
}

inline void hand_out(const RailPlace& place, std::uint32_t parts, LaneBuilder& lane) {
  Operands fellows;
  for (std::uint32_t k = 1; k < place.group; ++k) fellows.push_back(link(place.rank_of(place.number, (place.seat + k) % place.group), 0, parts));
  lane.copy(output(place.seat * parts, parts), std::move(fellows));
  for (std::uint32_t k = place.group - 1; k > 0; --k) {
    const std::uint32_t seat = (place.seat + k) % place.group;
    lane.copy(link(place.rank_of(place.number, seat), 0, parts), {output(seat * parts, parts)});
  }
}

template <class Pairs>
Program program(const PlanHeader& header, std::uint32_t rank) {
  const RailPlace place(header, rank);
  const RailGroup<Pairs> rail(place);
  const std::uint32_t parts = rail.fold.members;  // of a share
  const Span share{place.seat * parts, parts};
  const Operand own = output(share.first, parts);
  LaneBuilder lane;
  deal(place, parts, lane);
  if (rail.fold.out) {
    lane.copy(own, {link(rail.previous(), 0, parts)});
    lane.copy(link(rail.previous(), 0, parts), {own});
  } else {
    if (rail.fold.folded) lane.reduce({own, link(rail.next(), 0, parts)}, {own}, false);
    regather(rail, halve(rail, share, lane), lane);
    if (rail.fold.folded) lane.copy(own, {link(rail.next(), 0, parts)});
  }
  hand_out(place, parts, lane);
  return lane.take_program();
}

inline std::string_view objection(const Request& request, const CostModel& cost, const PlanLimits&) {
  return request.collective == Collective::all_reduce ? no_rails(cost) : other_collective;
}

inline Shape shape_of(const Request& request, const PlanLimits& limits, std::uint32_t group) {
  const std::uint32_t members = power_of_two_below(request.ranks / group);
  const bool folds = members != request.ranks / group;
  constexpr std::uint32_t depth = 2;  // of a channel to a fellow, which takes a share, and later another one
  const std::uint32_t along = 2 * (members - 1) + (folds ? members : 0);
  return {Protocol::staged, true, group * members, 0, depth * members * (group - 1) + along, depth, longest_piece(limits)};
}

/// Halving and doubling of a share, with a round inside the group before and one after it.
inline Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double group = group_of(cost, shape), groups = terms.ranks / group, share = terms.block / group;
  const std::uint32_t members = power_of_two_below(static_cast<std::uint32_t>(groups));
  const bool folds = members != groups;
  const double rounds = 2.0 * log2_floor(members) + (folds ? 2 : 0), half = share - share / members;
  const double inside = (group - 1) * share;
  double moving = 2 * (terms.publish(inside) + terms.pull_among(inside, 1, group)) + terms.add(inside) + terms.copy(share);
  moving += terms.publish(2 * half) + terms.share(share / members) + terms.pull_and_add(half) + terms.pull(half);
  if (folds) moving += terms.publish(2 * share) + terms.pull_and_add(share) + terms.pull(share);
  const double steps = 4 * group + 6 * rounds + 2.0 * members;
  const double waits = rounds * terms.message_ns() + 2 * (terms.crowded() ? terms.message_ns() : terms.latency_within(group));
  return {waits * terms.pieces, terms.work_ns(moving, steps * terms.pieces), rounds + 2, 4 * (inside + half) + (folds ? 4 * share : 0)};
}

inline Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  return cheapest_groups(request, cost, limits, [&](std::uint32_t group) { return shape_of(request, limits, group); }, predict);
}

inline std::string_view departure(const Request&, const CostModel&) { return "it combines each group first, and then distant ones, not along the one tree"; }

}  // namespace rondo::planner::rail_pairs

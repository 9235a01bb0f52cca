// Rail tree: a reduction's shares are dealt out inside each group (a box, a host), and each goes up and down a double binary tree along its rail: as many
// bytes between groups as `rail` sends, in hops that grow with the logarithm of the number of groups. Levels aren't done one after the other: every way of
// a piece is a lane of its own, so that the next pieces are combined inside while the first ones travel.
#include <array>

#include "planner/double_tree.hpp"
#include "planner/rails.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t trees = 2;
constexpr std::uint32_t least_piece = 4096;

/// A rank's place in one tree along its rail. Channel `tree` takes what is to be combined, towards the root or to who combines a fellow's share; channel
/// 2 + tree takes results.
struct Half {
  Half(const RailPlace& own, std::uint32_t number) : place(own), tree(number), along(tree_place(own.groups, number, own.number)) {}

  std::uint32_t chunk() const { return place.seat * trees + tree; }
  Operand up(std::uint32_t group) const { return link(place.rank_of(group, place.seat), tree); }
  Operand down(std::uint32_t group) const { return link(place.rank_of(group, place.seat), trees + tree); }

  const RailPlace& place;
  std::uint32_t tree;
  TreePlace along;  ///< of numbers of groups
};

std::uint32_t fellow(const RailPlace& place, std::uint32_t seat) { return place.rank_of(place.number, seat); }

/// Seats of the others, from the next one on.
std::uint32_t other_seat(const RailPlace& place, std::uint32_t k) { return (place.seat + k) % place.group; }

/// Who has a result hands it down the tree and to its fellows.
Operands handed_on(const Half& half) {
  Operands destinations{output(half.chunk())};
  for (std::uint32_t k = 0; k < half.along.child_count; ++k) destinations.push_back(half.down(half.along.children[k]));
  for (std::uint32_t k = 1; k < half.place.group; ++k) destinations.push_back(link(fellow(half.place, other_seat(half.place, k)), trees + half.tree));
  return destinations;
}

/// To everyone its share.
Lane deal(const RailPlace& place) {
  LaneBuilder lane;
  for (std::uint32_t k = 1; k < place.group; ++k)
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
      const std::uint32_t seat = other_seat(place, k);
      lane.copy(input(seat * trees + tree), {link(fellow(place, seat), tree)});
    }
  return lane.take();
}

Lane climb(const Half& half) {
  LaneBuilder lane;
  Operands sources;
  for (std::uint32_t k = half.place.group - 1; k > 0; --k) sources.push_back(link(fellow(half.place, other_seat(half.place, k)), half.tree));
  sources.push_back(input(half.chunk()));
  for (std::uint32_t k = 0; k < half.along.child_count; ++k) sources.push_back(half.up(half.along.children[k]));
  if (half.along.has_parent) lane.reduce(std::move(sources), {half.up(half.along.parent)}, false);
  else lane.reduce(std::move(sources), handed_on(half), true);
  return lane.take();
}

Lane descend(const Half& half) {
  LaneBuilder lane;
  lane.copy(half.down(half.along.parent), handed_on(half));
  return lane.take();
}

Lane collect(const RailPlace& place) {
  LaneBuilder lane;
  for (std::uint32_t k = place.group - 1; k > 0; --k)
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
      const std::uint32_t seat = other_seat(place, k);
      lane.copy(link(fellow(place, seat), trees + tree), {output(seat * trees + tree)});
    }
  return lane.take();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const RailPlace place(header, rank);
  const std::array<Half, trees> halves{Half(place, 0), Half(place, 1)};
  Program program;
  program.lanes.push_back(deal(place));
  for (const Half& half : halves) program.lanes.push_back(climb(half));
  for (const Half& half : halves)
    if (half.along.has_parent) program.lanes.push_back(descend(half));
  program.lanes.push_back(collect(place));
  return program;
}

std::string_view objection(const Request& request, const CostModel& cost, const PlanLimits&) {
  return request.collective == Collective::all_reduce ? no_rails(cost) : other_collective;
}

double hops(const Request& request, double group) { return 2.0 * log2_ceil(static_cast<std::uint32_t>(request.ranks / group)); }

/// What one piece of each chunk costs a rank: inside, and as a leaf of one tree and inside the other.
double turn_ns(const Terms& terms, double group, double piece) {
  const double inside = trees * (group - 1) * piece;
  const double within = 2 * (terms.publish(inside) + terms.pull_among(inside, 1, group)) + terms.add(inside);
  const double up = trees * terms.pull_and_add(piece) + terms.share(piece) + terms.publish(piece);
  return within + up + trees * (terms.pull(piece) + terms.publish(piece));
}

double turn_steps(double group) { return 8 * trees * group + 28; }

/// Of a rank that is inside a tree: two lanes for each, those inside the group, each with a flag of its own.
constexpr double lanes = 6;

/// As in the double tree, the best piece balances a turn's fixed cost with filling the trees.
Shape shape_of(const Request& request, const CostModel& cost, const PlanLimits& limits, std::uint32_t group) {
  const std::uint32_t along = std::min(4u, request.ranks / group), inside = 2 * trees * (group - 1);
  Shape shape{Protocol::staged, true, trees * group, 0, inside + along, 4, longest_piece(limits)};
  const Terms terms(request, cost, limits, shape);
  const double fixed = lanes * timely_signal * cost.latency_ns + turn_steps(group) * cost.core.step_ns;
  const double filling = turn_ns(terms, group, 1) * hops(request, group);
  shape.piece_bytes = balanced_piece(terms.chunk, fixed, filling, least_piece, longest_piece(limits));
  return shape;
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double group = group_of(cost, shape);
  const double rounds = hops(request, group) + 2;
  const double turn = turn_ns(terms, group, terms.piece);
  const double turns = rounds - 1 + terms.pieces;
  const double waits = terms.crowded() ? turns * terms.signal_ns()
                                       : (rounds - 2) * terms.message_ns() + 2 * terms.latency_within(group) + (lanes * terms.pieces - 1) * terms.timely_ns();
  const double fill = terms.crowded() ? 0 : (rounds - 1) * turn / lanes;
  return {waits, terms.work_ns(turn * terms.pieces + fill, turn_steps(group) * turns), rounds, (4 * (group - 1) / group + 6 / group) * terms.block};
}

Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  return cheapest_groups(request, cost, limits, [&](std::uint32_t group) { return shape_of(request, cost, limits, group); }, predict);
}

std::string_view departure(const Request&, const CostModel&) { return "its trees combine along rails, not along the one tree"; }

}  // namespace

const Algorithm rail_tree_algorithm{.name = "rail_tree",
                                    .needs_mapped = false,
                                    .objection = objection,
                                    .shape = shape,
                                    .predict = predict,
                                    .program = program,
                                    .order = Order::places,
                                    .departure = departure,
                                    .narrows = true,
                                    .chosen = Chosen::between_hosts};

}  // namespace rondo::planner

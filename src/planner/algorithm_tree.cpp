// Double binary tree: each half of the message goes up and down a tree of its own. Each direction of each tree is a
// lane, so that pieces on their way down don't hold up those on their way up.
#include "planner/double_tree.hpp"
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t least_piece = 4096;

/// One tree of one rank; the tree's number is also its chunk, and its channels are 2·tree (up) and 2·tree + 1 (down).
struct Half {
  std::uint32_t tree;
  TreePlace place;
  Operand to_parent() const { return link(place.parent, 2 * tree); }
  Operand from_parent() const { return link(place.parent, 2 * tree + 1); }
  Operand from_child(std::uint32_t k) const { return link(place.children[k], 2 * tree); }
  Operand to_child(std::uint32_t k) const { return link(place.children[k], 2 * tree + 1); }
};

Operands with_children(Operands destinations, const Half& half) {
  for (std::uint32_t k = 0; k < half.place.child_count; ++k) destinations.push_back(half.to_child(k));
  return destinations;
}

/// The first tree's children enclose their parent's place, so its reductions run in the order of ranks, where none other is followed.
void climb(const PlanHeader& header, const Half& half, LaneBuilder& lane) {
  Operands sources;
  for (std::uint32_t k = 0; k < half.place.child_count; ++k) sources.push_back(half.from_child(k));
  sources.insert(sources.begin() + (sources.empty() ? 0 : 1), input(half.tree));
  Operands destinations{half.place.has_parent ? half.to_parent() : output(half.tree)};
  if (!half.place.has_parent && header.collective == Collective::all_reduce)
    destinations = with_children(std::move(destinations), half);
  if (sources.size() == 1)
    lane.copy(sources[0], std::move(destinations));
  else
    lane.reduce(std::move(sources), std::move(destinations), !half.place.has_parent);
}

void descend(const Half& half, LaneBuilder& lane) {
  const Operand source = half.place.has_parent ? half.from_parent() : input(half.tree);
  lane.copy(source, with_children({output(half.tree)}, half));
}

/// A rank's place in a tree, along the header's order.
TreePlace place_of(const PlanHeader& header, std::uint32_t tree, std::uint32_t rank) {
  const std::uint32_t position = position_of(header, rank);
  TreePlace place = header.collective == Collective::all_reduce ? tree_place(header.ranks, tree, position)
                                                                : rooted_tree_place(header.ranks, tree, position_of(header, header.root), position);
  if (place.has_parent) place.parent = rank_at(header, place.parent);
  for (std::uint32_t k = 0; k < place.child_count; ++k) place.children[k] = rank_at(header, place.children[k]);
  return place;
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const bool all = header.collective == Collective::all_reduce;
  Program program;
  for (std::uint32_t tree = 0; tree < 2; ++tree) {
    const Half half{tree, place_of(header, tree, rank)};
    LaneBuilder up;
    LaneBuilder down;
    if (header.collective != Collective::broadcast) climb(header, half, up);
    if (header.collective == Collective::broadcast || (all && half.place.has_parent)) descend(half, down);
    for (LaneBuilder* lane : {&up, &down})
      if (Lane steps = lane->take(); !steps.steps.empty()) program.lanes.push_back(std::move(steps));
  }
  return program;
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
      return {};
    default:
      return other_collective;
  }
}

/// Hops from the farthest leaf to the root.
double height(const Request& request) {
  if (request.collective == Collective::all_reduce) return log2_ceil(request.ranks);
  return log2_ceil(request.ranks - 1) + 1;
}

double hops(const Request& request) {
  return request.collective == Collective::all_reduce ? 2 * height(request) : height(request);
}

/// Of a rank in both trees, each with a flag in a line of its own.
double lanes(const Request& request) { return request.collective == Collective::all_reduce ? 4 : 2; }

/// What one piece of each half costs a rank that is a leaf of one tree and inside the other. Of two ranks nobody is inside: each is the root of a
/// tree, or one of both.
double turn_ns(const Request& request, const Terms& terms, double piece) {
  double up = 2 * terms.pull_and_add(piece) + terms.share(piece) + terms.publish(piece);
  double down = 2 * (terms.pull(piece) + terms.publish(piece));
  if (terms.ranks == 2 && request.collective == Collective::all_reduce) {
    up = terms.pull_and_add(piece) + terms.publish(piece);
    down = terms.pull(piece) + terms.publish(piece);
  } else if (terms.ranks == 2) {
    const double given = terms.publish(piece), kept = terms.keep(piece);
    up = 2 * terms.lopsided(terms.pull_and_add(piece), terms.pull_and_add(piece) + given);
    down = 2 * terms.lopsided(std::max(terms.pull(piece), given + kept), terms.pull(piece) + given + kept);
  }
  return (request.collective == Collective::broadcast ? 0 : up) + (request.collective == Collective::reduce ? 0 : down);
}

constexpr double turn_steps = 28;  // with what going from lane to lane takes
constexpr double hop_steps = 10;   // of the first piece, which goes through one lane after another

/// A tree of h hops and k pieces takes h − 1 + k turns; the best piece balances a turn's fixed cost with filling the
/// tree.
Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  Shape shape{Protocol::staged, true, 2, 0, std::min(4u, request.ranks), 4, longest_piece(limits)};
  if (request.collective != Collective::all_reduce) shape.lowered_chunks = 2;
  const Terms terms(request, cost, limits, shape);
  const double fixed = lanes(request) * timely_signal * cost.latency_ns + turn_steps * cost.core.step_ns;
  const double filling = turn_ns(request, terms, 1) * std::max(1.0, hops(request) - 1);
  shape.piece_bytes = balanced_piece(terms.chunk, fixed, filling, least_piece, longest_piece(limits));
  return shape;
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double rounds = hops(request);
  const double turn = turn_ns(request, terms, terms.piece);
  const double turns = rounds - 1 + terms.pieces;
  // While the first lane's flag is waited for the others come in time.
  const double waits = terms.crowded() ? turns * (request.collective == Collective::all_reduce ? terms.signal_ns() : terms.passed_on_ns())
                                       : rounds * terms.message_ns() + (lanes(request) * terms.pieces - 1) * terms.timely_ns();
  // While the tree fills, the hops ahead of a rank move its first piece one after another, one way and in one tree
  // each.
  const double fill = terms.crowded() ? 0 : (rounds - 1) * turn / lanes(request);
  return {waits, terms.work_ns(turn * terms.pieces + fill, turn_steps * (terms.pieces - 1) + hop_steps * rounds), rounds,
          turn_ns(request, terms, terms.block) == 0 ? 0 : lanes(request) * 1.5 * terms.block};
}

std::string_view departure(const Request&, const CostModel&) {
  return "its trees group ranks otherwise than the one tree does";
}

}  // namespace

const Algorithm tree_algorithm{"tree", false, objection, shape, predict, program, Order::trees, departure};

}  // namespace rondo::planner

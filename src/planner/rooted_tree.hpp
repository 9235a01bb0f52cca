// Broadcasts and reductions along one tree, piece by piece; what the tree is, its algorithm says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {

/// One rank's neighbours. Children come in the order in which they are served: first those with most below them.
struct RootedPlace {
  bool is_root = false;
  std::uint32_t parent = 0;
  std::vector<std::uint32_t> children;
};

/// Every child has a step of its own, so that the first doesn't wait for the last one's copy.
inline void broadcast_along(const RootedPlace& place, LaneBuilder& lane) {
  Operands destinations{output(0)};
  if (!place.children.empty()) destinations.push_back(link(place.children[0]));
  lane.copy(place.is_root ? input(0) : link(place.parent), std::move(destinations));
  for (std::size_t k = 1; k < place.children.size(); ++k) lane.copy(output(0), {link(place.children[k])});
}

/// The children that have least below them are heard first.
inline void reduce_along(const RootedPlace& place, LaneBuilder& lane) {
  Operands sources{input(0)};
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) sources.push_back(link(*child));
  const Operand destination = place.is_root ? output(0) : link(place.parent);
  if (sources.size() == 1)
    lane.copy(sources[0], {destination});
  else
    lane.reduce(std::move(sources), {destination}, place.is_root);
}

/// A tree's height in hops, and the most children that a rank has (the root).
struct TreeSize {
  double hops;
  std::uint32_t children;
};

/// A tree of h hops and k pieces takes h − 1 + k turns, as in the double tree.
inline Shape shape_of_tree(const Request& request, const CostModel& cost, const PlanLimits& limits, const TreeSize& size) {
  constexpr std::uint32_t least_piece = 4096;
  const bool reduces = is_reduction(request.collective);
  const double turn = timely_signal * cost.latency_ns + 4 * size.children * cost.core.step_ns;
  const double filling = (size.hops - 1) * (cost.pull_ns_per_byte + cost.publish_ns_per_byte);
  const std::uint32_t piece = balanced_piece(static_cast<double>(block_bytes(request)), turn, filling, least_piece, longest_piece(limits));
  return {Protocol::staged, true, 1, 0, reduces ? 1 : size.children, 4, piece};
}

/// The root is the busiest: it serves or hears most children. Filling begins with what a leaf, or the root, hands over; on the way to the root a rank reads its
/// first piece from all its children once the last has come, on the average half as many as the root has.
inline Cost cost_of_tree(const Terms& terms, bool reduces, const TreeSize& size) {
  const double children = size.children;
  const double given = terms.publish(terms.piece);
  const double taken = reduces ? terms.pull_and_add(terms.piece) : terms.pull(terms.piece);
  const double root = reduces ? children * taken : terms.keep(terms.piece) + children * given;
  const double inner = reduces ? std::max(1.0, children / 2) * taken + terms.share(terms.piece) : taken + given;
  const double turn = terms.lopsided(std::max(root, size.hops > 1 ? inner : std::max(taken, given)), (terms.ranks - 1) * (taken + given));
  const double turns = size.hops - 1 + terms.pieces;
  const double waits =
      terms.crowded() ? turns * terms.passed_on_ns() : size.hops * terms.message_ns() + (children * terms.pieces - 1) * terms.timely_ns();
  const double fill = terms.crowded() ? 0 : given + (size.hops - 1) * inner;
  return {waits, terms.work_ns(turn * terms.pieces + fill, 4 * children * turns), size.hops, (children + 1) * terms.block};
}

}  // namespace rondo::planner

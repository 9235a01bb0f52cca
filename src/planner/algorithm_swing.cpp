// Swing (De Sensi, Bonato, Saam, Hoefler: "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024, arXiv 2401.09356): halving and
// doubling whose partners lie on both sides in turn, at distances 1, 1, 3, 5, 11, ..., so that on a ring or torus no message goes as far as in recursive
// doubling. Here on one dimension.
//
// Of its two forms this is the one that moves least. In the other, where ranks swap whole messages, neighbours combine different sets of ranks in their
// next rounds, and so end with other last bits; all ranks get the same here. Chunks are owned in the order in which halves are halved, since who owns which
// plays no part in an all-reduce: what a round moves lies side by side.
#include "planner/halving.hpp"
#include "planner/swing_pairs.hpp"

namespace rondo::planner {
namespace {

Program program(const PlanHeader& header, std::uint32_t rank) {
  const SwingPairs pairs(header.ranks, rank);
  LaneBuilder lane;
  regather(pairs, halve(pairs, {0, header.ranks}, lane), lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  if (request.collective != Collective::all_reduce) return other_collective;
  return power_of_two_below(request.ranks) == request.ranks
             ? std::string_view()
             : "its distances lead to every rank once over powers of two alone";
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  return {Protocol::staged, true, request.ranks, 0, 2 * (request.ranks - 1), 2, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  return cost_of_halving(Terms(request, cost, limits, shape), request.ranks, false);
}

std::string_view departure(const Request&, const CostModel&) {
  return "its partners on both sides group ranks otherwise than the one tree does";
}

}  // namespace

const Algorithm swing_algorithm{.name = "swing",
                                .needs_mapped = false,
                                .objection = objection,
                                .shape = shape,
                                .predict = predict,
                                .program = program,
                                .departure = departure,
                                .chosen = Chosen::by_name};

}  // namespace rondo::planner

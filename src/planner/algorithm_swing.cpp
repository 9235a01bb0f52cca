// Swing (De Sensi, Bonato, Saam, Hoefler: "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024, arXiv 2401.09356): halving and
// doubling whose partners lie on both sides in turn, at distances 1, 1, 3, 5, 11, ..., so that on a ring or torus no message goes as far as in recursive
// doubling. Here on one dimension.
//
// Of its two forms this is the one that moves least. In the other, where ranks swap whole messages, neighbours combine different sets of ranks in their
// next rounds, and so end with other last bits; all ranks get the same here. Chunks are owned in the order in which halves are halved, since who owns which
// plays no part in an all-reduce: what a round moves lies side by side.
#include "planner/halving.hpp"
#include "planner/negabinary.hpp"

namespace rondo::planner {
namespace {

/// One rank's partners. Each round's has the other parity.
struct SwingGroup {
  SwingGroup(std::uint32_t all, std::uint32_t own) : ranks(all), rank(own) {
    // Bit k says whether the way here from rank 0, in rounds 0, 1, 2, ..., has a hop of round k; partners of that round agree on the bits before it.
    const std::uint32_t digits = to_negabinary(rank % 2 == 1 ? rank : ranks - rank) % ranks;
    halves = digits ^ (digits >> 1);
  }
  std::uint32_t rounds() const { return log2_floor(ranks); }
  std::uint32_t partner(std::uint32_t round) const { return swing_partner(ranks, rank, round); }
  bool is_upper(std::uint32_t round) const { return (halves >> round & 1) != 0; }

  static constexpr bool folded = false;
  std::uint32_t ranks;
  std::uint32_t rank;
  std::uint32_t halves;
};

Program program(const PlanHeader& header, std::uint32_t rank) {
  const SwingGroup group(header.ranks, rank);
  LaneBuilder lane;
  regather(group, halve(group, {0, header.ranks}, lane), lane);
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

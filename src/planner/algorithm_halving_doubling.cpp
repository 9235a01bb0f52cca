// Halving and doubling: a reduce-scatter by recursive halving, an all-gather by recursive doubling (Rabenseifner,
// 2004). The nearest ranks exchange first: that is when most is moved, and it combines contributions along the binary
// tree of ranks.
#include "planner/folded_group.hpp"
#include "planner/halving.hpp"

namespace rondo::planner {
namespace {

Program program(const PlanHeader& header, std::uint32_t rank) {
  const FoldedGroup group(header.ranks, rank);
  const std::uint32_t all = group.members;
  LaneBuilder lane;
  if (group.out) {
    lane.copy(input(0, all), {link(rank - 1, 0, all)});
    lane.copy(link(rank - 1, 0, all), {output(0, all)});
    return lane.take_program();
  }
  if (group.folded) lane.reduce({input(0, all), link(rank + 1, 0, all)}, {output(0, all)}, false);
  regather(group, halve(group, {0, all}, lane), lane);
  if (group.folded) lane.copy(output(0, all), {link(rank + 1, 0, all)});
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return request.collective == Collective::all_reduce ? std::string_view() : other_collective;
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  const std::uint32_t members = power_of_two_below(request.ranks);
  const std::uint32_t folded = members == request.ranks ? 0 : members;
  return {Protocol::staged, true, members, 0, 2 * (members - 1) + folded, 2, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const std::uint32_t members = power_of_two_below(request.ranks);
  return cost_of_halving(terms, members, members != request.ranks);
}

std::string_view departure(const Request&, const CostModel&) {
  return "it combines distant ranks first, not along the one tree";
}

}  // namespace

const Algorithm halving_doubling_algorithm{"halving_doubling", false, objection, shape, predict, program, Order::none, departure};

}  // namespace rondo::planner

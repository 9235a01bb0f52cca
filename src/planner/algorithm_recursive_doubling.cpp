// Recursive doubling: in round k ranks whose numbers differ in bit k exchange all they have.
#include "planner/folded_group.hpp"
#include "planner/steps.hpp"

namespace rondo::planner {
namespace {

/// Both partners combine the lower group's value first, so that all ranks get the same bits.
Program all_reduce(const PlanHeader& header, std::uint32_t rank) {
  const FoldedGroup group(header.ranks, rank);
  LaneBuilder lane;
  if (group.out) {
    lane.copy(input(0), {link(rank - 1)});
    lane.copy(link(rank - 1), {output(0)});
    return lane.take_program();
  }
  Operand current = input(0);
  if (group.folded) {
    lane.reduce({input(0), link(rank + 1)}, {output(0), link(group.partner(0))}, false);
    current = output(0);
  } else {
    lane.copy(input(0), {link(group.partner(0))});
  }
  for (std::uint32_t round = 0; round < group.rounds(); ++round) {
    const bool last = round + 1 == group.rounds();
    Operands sources{current, link(group.partner(round))};
    if (group.is_upper(round)) std::swap(sources[0], sources[1]);
    Operands destinations{output(0)};
    if (!last) destinations.push_back(link(group.partner(round + 1)));
    if (last && group.folded) destinations.push_back(link(rank + 1));
    lane.reduce(std::move(sources), std::move(destinations), last);
    current = output(0);
  }
  return lane.take_program();
}

/// After round k a rank has the blocks of the 2^(k+1) ranks that share its higher bits.
Program all_gather(const PlanHeader& header, std::uint32_t rank) {
  const FoldedGroup group(header.ranks, rank);
  LaneBuilder lane;
  lane.copy(input(0), {output(rank), link(group.partner(0))});
  for (std::uint32_t round = 0; round < group.rounds(); ++round) {
    const std::uint32_t blocks = 1u << round;
    const std::uint32_t theirs = group.partner(round) / blocks * blocks;
    lane.copy(link(group.partner(round), 0, blocks), {output(theirs, blocks)});
    if (round + 1 == group.rounds()) break;
    const std::uint32_t ours = rank / (2 * blocks) * (2 * blocks);
    lane.copy(output(ours, 2 * blocks), {link(group.partner(round + 1), 0, 2 * blocks)});
  }
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  return header.collective == Collective::all_gather ? all_gather(header, rank) : all_reduce(header, rank);
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  if (request.collective == Collective::all_reduce) return {};
  if (request.collective != Collective::all_gather) return other_collective;
  return power_of_two_below(request.ranks) == request.ranks ? std::string_view()
                                                            : "it gathers over powers of two alone";
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  const std::uint32_t rounds = log2_floor(request.ranks);
  const bool folds = power_of_two_below(request.ranks) != request.ranks;
  const bool gathers = request.collective == Collective::all_gather;
  return {Protocol::staged, true, 1, 0, gathers ? request.ranks - 1 : rounds + (folds ? 1 : 0), 2, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double exchanges = log2_floor(request.ranks);
  const bool folds = power_of_two_below(request.ranks) != request.ranks;
  const bool gathers = request.collective == Collective::all_gather;
  const double rounds = exchanges + (folds ? 2 : 0);
  const double received = (gathers ? terms.ranks - 1 : exchanges + (folds ? 1 : 0)) * terms.block;
  double moving = gathers
                      ? terms.keep(terms.block) + terms.publish(received) + terms.pull_from_all(received)
                      : terms.publish(terms.block) + terms.pull_and_add(received) + terms.share(received - terms.block);
  if (folds) moving += terms.publish(terms.block) + terms.pull(terms.block);
  const double steps = (2 + 4 * rounds) * terms.pieces;
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds, 2 * received};
}

std::string_view departure(const Request& request, const CostModel&) {
  if (stores_rounded(request)) return "it stores what is combined in part, which rounds this type";
  return power_of_two_below(request.ranks) == request.ranks ? std::string_view() : "it folds ranks otherwise than the one tree does";
}

}  // namespace

const Algorithm recursive_doubling_algorithm{"recursive_doubling", false, objection, shape, predict, program, Order::none, departure};

}  // namespace rondo::planner

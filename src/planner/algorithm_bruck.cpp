// Bruck's all-gather (Bruck, Ho, Kipnis, Upfal, Weathersby: "Efficient Algorithms for All-to-All Communications in Multiport
// Message-Passing Systems", IEEE TPDS 1997): ⌈log2 p⌉ rounds for any number of ranks.
//
// Before the round of distance d = 1, 2, 4, ... a rank has its own block and the d − 1 behind it, round the end of the ranks. It
// passes them to the rank d before it, as many as that one still lacks. The paper collects blocks from the first place on and
// rotates them at the end; here they go to their place at once, in two messages where they go round the end.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 64u << 10;

/// Calls `message(channel, first, count)` for the runs that `count` blocks from `first` on make: a second one behind the last rank's.
template <class Message>
void for_runs(std::uint32_t ranks, std::uint32_t first, std::uint32_t count, Message message) {
  const std::uint32_t before_end = std::min(count, ranks - first);
  message(0, first, before_end);
  if (before_end < count) message(1, 0, count - before_end);
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t ranks = header.ranks;
  LaneBuilder lane;
  lane.copy(input(0), {output(rank), link((rank + ranks - 1) % ranks)});
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    const std::uint32_t blocks = std::min(distance, ranks - distance);
    const std::uint32_t behind = (rank + ranks - distance) % ranks;
    const std::uint32_t ahead = (rank + distance) % ranks;
    if (distance > 1)
      for_runs(ranks, rank, blocks, [&](std::uint32_t channel, std::uint32_t first, std::uint32_t count) {
        lane.copy(output(first, count), {link(behind, channel, count)});
      });
    for_runs(ranks, ahead, blocks, [&](std::uint32_t channel, std::uint32_t first, std::uint32_t count) {
      lane.copy(link(ahead, channel, count), {output(first, count)});
    });
  }
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return request.collective == Collective::all_gather ? std::string_view() : other_collective;
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  return {Protocol::staged, true, 1, 0, request.ranks - 1, 2, piece_bytes};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double rounds = log2_ceil(request.ranks);
  const double received = (terms.ranks - 1) * terms.block;
  const double moving = terms.copy(terms.block) + terms.publish(received) + terms.pull_from_all(received);
  // A step runs once for each block. The last rank's go round the end in all rounds: two messages each way, with a wait and a signal.
  const double steps = (2 * (terms.ranks - 1) + 8 * rounds) * terms.pieces;
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds, 2 * received};
}

}  // namespace

const Algorithm bruck_algorithm{
    .name = "bruck", .needs_mapped = false, .objection = objection, .shape = shape, .predict = predict, .program = program, .by_name = true};

}  // namespace rondo::planner

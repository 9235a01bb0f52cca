// Bruck's all-gather and all-to-all (Bruck, Ho, Kipnis, Upfal, Weathersby: "Efficient Algorithms for All-to-All Communications in Multiport
// Message-Passing Systems", IEEE TPDS 1997): ⌈log2 p⌉ rounds for any number of ranks.
//
// Before the round of distance d = 1, 2, 4, ... a rank has its own block and the d − 1 behind it, round the end of the ranks. It
// passes them to the rank d before it, as many as that one still lacks. The paper collects blocks from the first place on and
// rotates them at the end; here they go to their place at once, in two messages where they go round the end.
//
// In all_to_all a block that has to go j ranks on goes 2^k of them in each round k whose bit is set in j. It rests in scratch[j] of whoever has it between two
// hops, and has a channel of its own, so that all blocks of a round leave before the first is waited for. A block is sent up to ⌈log2 p⌉ times, to few ranks.
#include <bit>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

/// Calls `message(channel, first, count)` for the runs that `count` blocks from `first` on make: a second one behind the last rank's.
template <class Message>
void for_runs(std::uint32_t ranks, std::uint32_t first, std::uint32_t count, Message message) {
  const std::uint32_t before_end = std::min(count, ranks - first);
  message(0, first, before_end);
  if (before_end < count) message(1, 0, count - before_end);
}

/// The round in which a block that goes j ranks on leaves its first rank, and the one in which it arrives at its last.
std::uint32_t leaves(std::uint32_t j) { return static_cast<std::uint32_t>(std::countr_zero(j)); }
std::uint32_t arrives(std::uint32_t j) { return log2_floor(j); }

template <class Move>
void for_each_moving(std::uint32_t ranks, std::uint32_t round, Move move) {
  for (std::uint32_t j = 1u << round; j < ranks; ++j)
    if ((j >> round & 1) != 0) move(j);
}

Program all_to_all(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t ranks = header.ranks;
  LaneBuilder lane;
  // In place, a block arrives where the own one for that rank lies: if that has not left by then, it waits elsewhere.
  const auto makes_room = [&](std::uint32_t j) { return leaves(j) > arrives(ranks - j); };
  lane.copy(input(rank), {output(rank)});
  for (std::uint32_t j = 1; j < ranks; ++j)
    if (makes_room(j)) lane.copy(input((rank + j) % ranks), {scratch(j)});
  for (std::uint32_t round = 0; (1u << round) < ranks; ++round) {
    const std::uint32_t distance = 1u << round;
    const std::uint32_t ahead = (rank + distance) % ranks, behind = (rank + ranks - distance) % ranks;
    for_each_moving(ranks, round, [&](std::uint32_t j) {
      const bool is_own = leaves(j) == round && !makes_room(j);
      lane.copy(is_own ? input((rank + j) % ranks) : scratch(j), {link(ahead, j)});
    });
    for_each_moving(ranks, round, [&](std::uint32_t j) {
      lane.copy(link(behind, j), {arrives(j) == round ? output((rank + ranks - j) % ranks) : scratch(j)});
    });
  }
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  if (header.collective == Collective::all_to_all) return all_to_all(header, rank);
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
  const bool served = request.collective == Collective::all_gather || request.collective == Collective::all_to_all;
  return served ? std::string_view() : other_collective;
}

/// How often the blocks of a rank are sent.
std::uint32_t sent_in_all(std::uint32_t ranks) {
  std::uint32_t sent = 0;
  for (std::uint32_t j = 1; j < ranks; ++j) sent += static_cast<std::uint32_t>(std::popcount(j));
  return sent;
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  constexpr std::uint32_t depth = 2;
  if (request.collective == Collective::all_gather) return {Protocol::staged, true, 1, 0, request.ranks - 1, depth, longest_piece(limits)};
  return {Protocol::staged, true, 1, request.ranks, request.ranks + sent_in_all(request.ranks), depth, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double rounds = log2_ceil(request.ranks);
  if (request.collective == Collective::all_to_all) {
    const double hops = sent_in_all(request.ranks);
    const double moving = terms.publish(hops * terms.block) + terms.pull_from_all(hops * terms.block) + terms.keep(terms.block);
    return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, 6 * hops * terms.pieces), rounds, 2 * hops * terms.block};
  }
  const double received = (terms.ranks - 1) * terms.block;
  const double moving = terms.keep(terms.block) + terms.publish(received) + terms.pull_from_all(received);
  // A step runs once for each block. The last rank's go round the end in all rounds: two messages each way, with a wait and a signal.
  const double steps = (2 * (terms.ranks - 1) + 8 * rounds) * terms.pieces;
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds, 2 * received};
}

}  // namespace

const Algorithm bruck_algorithm{
    .name = "bruck", .needs_mapped = false, .objection = objection, .shape = shape, .predict = predict, .program = program, .chosen = Chosen::by_name};

}  // namespace rondo::planner

// One-shot for what no cache holds: a rank first copies to its own output, past the caches, and then to the slot what that left in them. One-shot's order,
// the slot first, lets readers begin sooner; but then both what is read and where it goes are misses, and the own output's stores are waited for alone.
// docs/design/0003-cost-model.md, "Predicted against measured".

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 64u << 10;

/// The root of a broadcast waits for its readers; they signal that a slot is free again.
Program broadcast(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  if (rank == header.root) {
    for (std::uint32_t k = 1; k < header.ranks; ++k) lane.wait(peer(header, rank, k), 0, header.depth);
    lane.copy(input(0), {output(0), scratch(0)});
  } else {
    lane.wait(header.root, 0);
    lane.copy(scratch_of(header.root, 0), {output(0)});
  }
  lane.signal();
  return lane.take_program();
}

/// With 4 slots nobody has to ask whether one is free, as in one_shot.
Program all_gather(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  lane.copy(input(0), {output(rank), scratch(0)});
  lane.signal();
  lane.skew = 1;
  for (std::uint32_t k = 1; k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, 0);
    lane.copy(scratch_of(from, 0), {output(from)});
  }
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  return header.collective == Collective::broadcast ? broadcast(header, rank) : all_gather(header, rank);
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  const bool served = request.collective == Collective::broadcast || request.collective == Collective::all_gather;
  return served ? std::string_view() : other_collective;
}

Shape shape(const Request&, const CostModel&, const PlanLimits&) { return {Protocol::staged, false, 1, 1, 1, 4, piece_bytes}; }

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const bool all = request.collective == Collective::all_gather;
  const double fetched = (all ? others : 1) * terms.block;
  // Of what goes past the caches memory is what counts, which work_ns() knows.
  const double kept = terms.copy(terms.block) * (1 - terms.beyond_caches());
  const double out = terms.publish(terms.block) + kept, first = terms.publish(terms.piece) + terms.copy(terms.piece);
  double moving = terms.copy(terms.piece) + out + terms.pull_from_all(fetched);
  if (!all) {
    // Readers take in the last piece once the root has done all of its own.
    const double in = terms.pull_from_one(fetched, 1, terms.ranks), last = terms.pull_from_one(terms.piece, 1, terms.ranks);
    moving = terms.lopsided(first + std::max(in, out - first + last), out + others * in);
  }
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(1), terms.work_ns(moving + first_lines, (2 + others) * terms.pieces), 1, 2 * terms.block + fetched};
}

}  // namespace

const Algorithm one_shot_streamed_algorithm{"one_shot_streamed", true, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

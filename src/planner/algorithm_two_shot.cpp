// Two-shot: rank r reduces the r-th part of the message for all, straight from the others' scratch, then everybody
// (reduce: the root) fetches the parts.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 64u << 10;
constexpr std::uint32_t published = 0;            ///< signals of a body
constexpr std::uint32_t reduced = 1;

/// Chunk k of scratch holds what this rank contributes to the part of the rank k places on; chunk 0 holds its own part's result.
constexpr std::uint32_t result = 0;
std::uint32_t place_for(const PlanHeader& header, std::uint32_t owner, std::uint32_t reader) { return (reader + header.ranks - owner) % header.ranks; }

void publish(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  const std::uint32_t above = header.ranks - 1 - rank;
  if (above != 0) lane.copy(input(rank + 1, above), {scratch(1, above)});
  if (rank != 0) lane.copy(input(0, rank), {scratch(1 + above, rank)});
  lane.signal();
}

void reduce_part(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  Operands sources;
  sources.reserve(header.ranks);
  for (std::uint32_t from = 0; from < header.ranks; ++from)
    sources.push_back(from == rank ? input(rank) : scratch_of(from, place_for(header, from, rank)));
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.wait(peer(header, rank, k), published);
  if (!has_output(header, rank)) lane.reduce(std::move(sources), {scratch(result)}, true);
  else if (header.collective != Collective::all_reduce) lane.reduce(std::move(sources), {output(rank)}, true);
  else lane.reduce(std::move(sources), {output(rank), scratch(result)}, true);
  lane.signal();
}

/// In turn t a rank publishes piece t, reduces piece t − 1 and fetches piece t − 2, so that signals have a turn to
/// travel. Three slots then need no credits: who publishes piece i has fetched piece i − 3, so all have reduced it; who
/// has seen everybody publish piece i knows that they fetched piece i − 3. A rank that fetches nothing asks instead.
Program program(const PlanHeader& header, std::uint32_t rank) {
  const bool fetches = has_output(header, rank);
  LaneBuilder lane;
  lane.reserve(6 + 3 * std::size_t{header.ranks});
  for (std::uint32_t k = 1; !fetches && k < header.ranks; ++k)
    lane.wait(peer(header, rank, k), reduced, header.depth);
  publish(header, rank, lane);
  lane.skew = 1;
  reduce_part(header, rank, lane);
  lane.skew = 2;
  for (std::uint32_t k = 1; fetches && k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, reduced);
    lane.copy(scratch_of(from, result), {output(from)});
  }
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  if (request.collective != Collective::all_reduce && request.collective != Collective::reduce) return other_collective;
  if (request.ranks > 64 && request.op == ReduceOp::premul_sum) return "premul_sum scales one of 64 sources at most";
  return {};
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  return {Protocol::staged, false, request.ranks, request.ranks, request.ranks, 3, piece_bytes};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double parts = others * terms.chunk;
  const double shared = parts * terms.in_scratch;
  // A reduce's root hands nothing on, and waits for the others to do so with the first piece alone.
  const double handed_on = terms.share((request.collective == Collective::all_reduce ? terms.chunk : terms.piece) * terms.in_scratch);
  const double moving = terms.publish(shared) + terms.pull_from_all(shared) + terms.add(parts) + handed_on + terms.pull_from_all(shared);
  const double steps = (5 + 4 * others) * terms.pieces;
  const double first_lines = 4 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(2), terms.work_ns(moving + first_lines, steps), 2, 3 * parts};
}

}  // namespace

const Algorithm two_shot_algorithm{"two_shot", true, objection, shape, predict, program, Order::none, nullptr, true};

}  // namespace rondo::planner

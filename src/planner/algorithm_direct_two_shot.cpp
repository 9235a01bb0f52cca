// Direct two-shot: rank r reduces the r-th part of the message for all, straight from their inputs, then everybody (reduce: the root) fetches
// the parts. For buffers that peers can read (docs/design/0010-symmetric-memory.md), in place too: that part of the input is nobody else's
// to read, and what a fetch overwrites has been read by the rank it comes from.
#include "planner/direct.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 256u << 10;  ///< still in its owner's cache when the others fetch it
constexpr std::uint32_t begun = 0;                 ///< signals of a body: this rank's buffers may be read
constexpr std::uint32_t reduced = 1;
constexpr std::uint32_t fetched = 2;

/// The root alone has an output; the others keep their parts in scratch.
Program program(const PlanHeader& header, std::uint32_t rank) {
  const bool all = header.collective == Collective::all_reduce;
  const bool fetches = has_output(header, rank);
  LaneBuilder lane;
  if (!fetches) lane.wait(header.root, fetched, header.depth);
  lane.signal();
  wait_for_others(header, rank, begun, lane);
  lane.reduce(all_inputs(header, rank, rank), {fetches ? output(rank) : scratch(0)}, true);
  lane.signal();
  lane.skew = 1;
  for (std::uint32_t k = 1; k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, reduced);
    if (fetches) lane.copy(all ? output_of(from, from) : scratch_of(from, 0), {output(from)});
  }
  if (fetches) lane.signal();
  lane.skew = 2;
  if (all) wait_for_others(header, rank, fetched, lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits& limits) {
  if (request.collective != Collective::all_reduce && request.collective != Collective::reduce) return other_collective;
  return direct_objection(request, limits);
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  const std::uint32_t scratch_chunks = request.collective == Collective::reduce ? 1 : 0;
  return {Protocol::direct, false, request.ranks, scratch_chunks, scratch_chunks, 3, piece_bytes};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double parts = others * terms.chunk;
  const double ends = request.collective == Collective::all_reduce ? terms.signal_ns() : 0;
  const double moving = terms.pull_and_add_from_all(parts) + terms.share_again(terms.chunk) + terms.pull_from_all(parts);
  const double first_lines = 4 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(2) + ends, terms.work_ns(moving + first_lines, (5 + 4 * others) * terms.pieces), 3, 2 * parts};
}

}  // namespace

const Algorithm direct_two_shot_algorithm{"direct_two_shot", true, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

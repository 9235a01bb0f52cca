// Direct push: rank r reduces the r-th part of the message for all, straight from their inputs, and stores the result in everybody's output. Each byte of
// the buffers is read once and written once. In place, too: a part is nobody else's to read. What keeps a rank that is late from writing into memory that
// others have gone on with: docs/design/0010-symmetric-memory.md.
#include "planner/direct.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 4u << 20;  ///< long, since all that happens between pieces is a look at the peers
constexpr std::uint32_t begun = 0;               ///< signals of a body: this rank's input may be read, its output written
constexpr std::uint32_t stored = 1;              ///< its part is in everybody's output

Program program(const PlanHeader& header, std::uint32_t rank) {
  Operands everywhere;
  everywhere.reserve(header.ranks);
  everywhere.push_back(output(rank));
  for (std::uint32_t k = 1; k < header.ranks; ++k) everywhere.push_back(output_of(peer(header, rank, k), rank));
  LaneBuilder lane;
  lane.signal();
  wait_for_others(header, rank, begun, lane);
  lane.reduce(all_inputs(header, rank, rank), std::move(everywhere), true);
  lane.signal();
  wait_for_others(header, rank, stored, lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits& limits) {
  if (request.collective != Collective::all_reduce) return other_collective;
  return direct_objection(request, limits);
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) { return {Protocol::direct, false, request.ranks, 0, 0, 1, piece_bytes}; }

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double parts = others * terms.chunk;
  terms.touches_of_its_own(2 * terms.chunk);
  // In place what it stores to the peers have read and written; out of place nobody but this rank has written there, and half of the users read what they got.
  const double pushed = terms.publish(parts) - (1 - terms.in_place) * (terms.publish(parts) - terms.copy(parts)) / 2;
  const double moving = terms.pull_and_add_from_all(parts) + pushed;
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(1) + terms.signal_ns(), terms.work_ns(moving + first_lines, (3 + 2 * others) * terms.pieces), 2, 2 * parts};
}

}  // namespace

const Algorithm direct_push_algorithm{"direct_push", true, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

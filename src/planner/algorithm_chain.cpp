// A pipelined chain: sums go along the ranks' order to the last one, and what is complete comes back the same way, piece by piece (the linear pipeline of
// Träff, Ripke: "Optimal Broadcast for Fully Connected Processor-Node Networks", JPDC 2008). Every byte crosses each hop once each way, and only neighbours
// talk. Broadcast and reduce along a chain are what `ring` does for them.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t least_piece = 4096;

/// There and back are lanes of their own: a piece goes on there while an earlier one comes back.
Program program(const PlanHeader& header, std::uint32_t rank) {
  const auto at = [&](std::uint32_t position) { return rank_at(header, position); };
  const std::uint32_t position = position_of(header, rank);
  const bool first = position == 0, last = position + 1 == header.ranks;
  LaneBuilder there, back;
  if (first)
    there.copy(input(0), {link(at(1), 0)});
  else if (!last)
    there.reduce({link(at(position - 1), 0), input(0)}, {link(at(position + 1), 0)}, false);
  else
    there.reduce({link(at(position - 1), 0), input(0)}, {output(0), link(at(position - 1), 1)}, true);
  Program program;
  program.lanes.push_back(there.take());
  if (last) return program;
  Operands to{output(0)};
  if (!first) to.push_back(link(at(position - 1), 1));
  back.copy(link(at(position + 1), 1), std::move(to));
  program.lanes.push_back(back.take());
  return program;
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return request.collective == Collective::all_reduce ? std::string_view() : other_collective;
}

Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  const double turn = 2 * timely_signal * cost.latency_ns + 8 * cost.core.step_ns;
  const double filling = 2 * (request.ranks - 2) * (cost.pull_ns_per_byte + cost.publish_ns_per_byte);
  const std::uint32_t links = request.ranks > 2 ? 2 : 1;  // that a rank sends on
  return {Protocol::staged, true, 1, 0, links, 4, balanced_piece(static_cast<double>(block_bytes(request)), turn, filling, least_piece, longest_piece(limits))};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double hops = 2 * (terms.ranks - 1);
  const double first = terms.publish(terms.piece) + terms.pull(terms.piece), last = terms.pull_and_add(terms.piece) + terms.share(terms.piece);
  // Where nobody is in the middle, both ends work at the same time.
  const double piece = terms.ranks > 2 ? first + last : terms.lopsided(std::max(first, last), first + last);
  const double turns = hops - 1 + terms.pieces;
  const double waits = terms.crowded() ? turns * terms.passed_on_ns() : hops * terms.message_ns() + (terms.pieces - 1) * terms.timely_ns();
  const double fill = terms.crowded() ? 0 : (hops - 1) * piece / 2;
  return {waits, terms.work_ns(piece * terms.pieces + fill, 8 * turns), hops, 4 * terms.block};
}

std::string_view departure(const Request&, const CostModel&) { return "it combines along the chain, not along the one tree"; }

}  // namespace

const Algorithm chain_algorithm{.name = "chain",
                                .needs_mapped = false,
                                .objection = objection,
                                .shape = shape,
                                .predict = predict,
                                .program = program,
                                .order = Order::ring,
                                .departure = departure,
                                .chosen = Chosen::by_name};

}  // namespace rondo::planner

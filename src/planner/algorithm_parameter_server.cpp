// A parameter server (Li et al.: "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014) as the plan that it is: everybody sends to
// one rank, which combines and sends back. To be held against rings: two rounds, and all bytes at one rank.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

std::uint32_t server_of(const PlanHeader& header) { return is_rooted(header.collective) ? header.root : 0; }

Operands to_all_but(const PlanHeader& header, std::uint32_t server, std::uint32_t other, Operands links) {
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank)
    if (rank != server && rank != other) links.push_back(link(rank));
  return links;
}

/// Everybody's part, by rank.
Operands all_parts(const PlanHeader& header, std::uint32_t server, std::uint32_t block) {
  Operands parts;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) parts.push_back(rank == server ? input(block) : link(rank));
  return parts;
}

void serve(const PlanHeader& header, std::uint32_t server, LaneBuilder& lane) {
  switch (header.collective) {
    case Collective::all_reduce:
      return lane.reduce(all_parts(header, server, 0), to_all_but(header, server, server, {output(0)}), true);
    case Collective::reduce:
      return lane.reduce(all_parts(header, server, 0), {output(0)}, true);
    case Collective::broadcast:
      return lane.copy(input(0), to_all_but(header, server, server, {output(0)}));
    case Collective::reduce_scatter:
      for (std::uint32_t block = 0; block < header.ranks; ++block)
        lane.reduce(all_parts(header, server, block), {block == server ? output(0) : link(block)}, true);
      return;
    default:
      lane.copy(input(0), to_all_but(header, server, server, {output(server)}));
      for (std::uint32_t rank = 0; rank < header.ranks; ++rank)
        if (rank != server) lane.copy(link(rank), to_all_but(header, server, rank, {output(rank)}));
  }
}

/// What comes back is taken a turn later, so that the next piece is on its way by then.
void work(const PlanHeader& header, std::uint32_t rank, std::uint32_t server, LaneBuilder& lane) {
  const Collective collective = header.collective;
  if (collective == Collective::all_gather) lane.copy(input(0), {output(rank)});
  for (std::uint32_t block = 0; block < (collective == Collective::reduce_scatter ? header.ranks : 1); ++block)
    if (collective != Collective::broadcast) lane.copy(input(block), {link(server)});
  lane.skew = collective == Collective::broadcast ? 0 : 1;
  if (collective != Collective::all_gather) {
    if (has_output(header, rank)) lane.copy(link(server), {output(0)});
    return;
  }
  lane.copy(link(server), {output(server)});
  for (std::uint32_t other = 0; other < header.ranks; ++other)
    if (other != rank && other != server) lane.copy(link(server), {output(other)});
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t server = server_of(header);
  LaneBuilder lane;
  if (rank == server)
    serve(header, server, lane);
  else
    work(header, rank, server, lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::reduce_scatter:
    case Collective::all_gather:
      return {};
    default:
      return other_collective;
  }
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  constexpr std::uint32_t depth = 4;
  const std::uint32_t others = request.ranks - 1;
  std::uint32_t slots = request.collective == Collective::reduce ? 1 : others;
  if (request.collective == Collective::all_gather) slots = others * std::min(others, depth);
  if (request.collective == Collective::reduce_scatter) slots = std::max(others, std::min(request.ranks, depth));
  return {Protocol::staged, true, 1, 0, slots, depth, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const bool reduces = is_reduction(request.collective), back = request.collective != Collective::reduce;
  const double blocks = request.collective == Collective::all_gather || request.collective == Collective::reduce_scatter ? terms.ranks : 1;
  const double sent = others * terms.block * (request.collective == Collective::all_gather ? others : 1);
  const double taken = request.collective == Collective::broadcast ? 0 : others * terms.block * (request.collective == Collective::reduce_scatter ? blocks : 1);
  const double server = (reduces ? terms.pull_and_add(taken) : terms.pull(taken)) + (back ? terms.publish(sent) : 0) +
                        (reduces ? terms.copy(terms.block) : terms.keep(terms.block));
  const bool passes_on = request.collective == Collective::all_gather && request.ranks > 2;  // what others have sent
  const double rounds = request.collective == Collective::all_reduce || request.collective == Collective::reduce_scatter || passes_on ? 2 : 1;
  // The workers' part in the first piece.
  const double fill = (request.collective == Collective::broadcast ? 0 : terms.publish(terms.piece)) + (back ? terms.pull(terms.piece) : 0);
  return {terms.piped_ns(rounds), terms.work_ns(terms.lopsided(server, 2 * server) + fill, 4 * rounds * others * blocks * terms.pieces), rounds, sent + taken};
}

}  // namespace

const Algorithm parameter_server_algorithm{.name = "parameter_server",
                                           .needs_mapped = false,
                                           .objection = objection,
                                           .shape = shape,
                                           .predict = predict,
                                           .program = program,
                                           .chosen = Chosen::by_name};

}  // namespace rondo::planner

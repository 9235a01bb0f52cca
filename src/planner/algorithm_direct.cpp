// Direct: ranks read what they need where it is, in the peers' inputs and outputs, and stage nothing. For buffers that peers can
// read (docs/design/0010-symmetric-memory.md). Nobody writes into a peer's buffer, nobody ends before others have read its own.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t moved_piece_bytes = 4u << 20;     ///< long, since all that happens between pieces is a look at the peers
constexpr std::uint32_t reduced_piece_bytes = 256u << 10; ///< still in its owner's cache when the others fetch it
constexpr std::uint32_t begun = 0;  ///< signals of a body: this rank's buffers may be read
constexpr std::uint32_t read = 1;   ///< it has read those of the others (two-step collectives: and its part is there)
constexpr std::uint32_t fetched = 2;

std::uint32_t peer(const PlanHeader& header, std::uint32_t rank, std::uint32_t k) { return (rank + k) % header.ranks; }

void wait_for_all(const PlanHeader& header, std::uint32_t rank, std::uint32_t signal, LaneBuilder& lane, std::uint32_t lag = 0) {
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.wait(peer(header, rank, k), signal, lag);
}

/// Block or chunk `index` of all ranks' inputs, in the order of ranks.
std::vector<Operand> all_inputs(const PlanHeader& header, std::uint32_t rank, std::uint32_t index) {
  std::vector<Operand> sources;
  sources.reserve(header.ranks);
  for (std::uint32_t from = 0; from < header.ranks; ++from) sources.push_back(from == rank ? input(index) : input_of(from, index));
  return sources;
}

/// Everybody reads everybody's input: blocks of it, or one block from each.
Program everybody(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  lane.signal();
  if (header.collective == Collective::reduce_scatter) {
    wait_for_all(header, rank, begun, lane);
    lane.reduce(all_inputs(header, rank, rank), {output(0)}, true);
  } else {
    const bool per_rank = header.collective == Collective::all_to_all;
    lane.copy(input(per_rank ? rank : 0), {output(rank)});
    for (std::uint32_t k = 1; k < header.ranks; ++k) {
      const std::uint32_t from = peer(header, rank, k);
      lane.wait(from, begun);
      lane.copy(input_of(from, per_rank ? rank : 0), {output(from)});
    }
  }
  lane.signal();
  wait_for_all(header, rank, read, lane);
  return lane.take_program();
}

/// The root reads the others' inputs, or they read the root's.
Program rooted(const PlanHeader& header, std::uint32_t rank) {
  const bool gathers = header.collective == Collective::gather;
  const bool scatters = header.collective == Collective::scatter;
  LaneBuilder lane;
  lane.signal();
  if (gathers && rank == header.root) {
    lane.copy(input(0), {output(rank)});
    for (std::uint32_t k = 1; k < header.ranks; ++k) {
      const std::uint32_t from = peer(header, rank, k);
      lane.wait(from, begun);
      lane.copy(input_of(from, 0), {output(from)});
    }
    lane.signal();
  } else if (gathers) {
    lane.wait(header.root, read);
  } else if (rank == header.root) {
    lane.copy(input(scatters ? rank : 0), {output(0)});
    wait_for_all(header, rank, read, lane);
  } else {
    lane.wait(header.root, begun);
    lane.copy(input_of(header.root, scatters ? rank : 0), {output(0)});
    lane.signal();
  }
  return lane.take_program();
}

/// Rank r combines the r-th part of all inputs in its own output; then everybody fetches the parts from there. In place that part of the input
/// is nobody else's to read, and what a fetch overwrites has been read by the rank it comes from.
Program all_reduce(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  lane.signal();
  wait_for_all(header, rank, begun, lane);
  lane.reduce(all_inputs(header, rank, rank), {output(rank)}, true);
  lane.signal();
  lane.skew = 1;
  for (std::uint32_t k = 1; k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, read);
    lane.copy(output_of(from, from), {output(from)});
  }
  lane.signal();
  lane.skew = 2;
  wait_for_all(header, rank, fetched, lane);
  return lane.take_program();
}

/// The same for the root alone: the others have no output, and keep their parts in scratch.
Program reduce(const PlanHeader& header, std::uint32_t rank) {
  const bool root = rank == header.root;
  LaneBuilder lane;
  if (!root) lane.wait(header.root, fetched, header.depth);
  lane.signal();
  wait_for_all(header, rank, begun, lane);
  lane.reduce(all_inputs(header, rank, rank), {root ? output(rank) : scratch(0)}, true);
  lane.signal();
  lane.skew = 1;
  for (std::uint32_t k = 1; k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, read);
    if (root) lane.copy(scratch_of(from, 0), {output(from)});
  }
  if (root) lane.signal();
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  switch (header.collective) {
    case Collective::all_reduce: return all_reduce(header, rank);
    case Collective::reduce: return reduce(header, rank);
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all: return everybody(header, rank);
    default: return rooted(header, rank);
  }
}

bool in_parts(Collective collective) { return collective == Collective::all_reduce || collective == Collective::reduce; }

std::string_view objection(const Request& request, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter: break;
    default: return other_collective;
  }
  if (!request.symmetric) return "ranks can't read one another's buffers";
  if (is_reduction(request.collective) && request.op == ReduceOp::premul_sum) return "a rank doesn't know the others' factors";
  return {};
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  if (!in_parts(request.collective)) {
    const bool reduces = request.collective == Collective::reduce_scatter;
    return {Protocol::direct, false, 1, 0, 0, 1, reduces ? reduced_piece_bytes : moved_piece_bytes};
  }
  const std::uint32_t scratch_chunks = request.collective == Collective::reduce ? 1 : 0;
  return {Protocol::direct, false, request.ranks, scratch_chunks, scratch_chunks, 3, reduced_piece_bytes};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double first_lines = 2 * (others - 1) * cost.line_ns;
  if (in_parts(request.collective)) {
    const bool all = request.collective == Collective::all_reduce;
    const double parts = others * terms.chunk;
    const double moving = terms.copy(terms.chunk) + terms.pull_and_add(parts) + terms.pull(parts);
    return {terms.piped_ns(2) + (all ? terms.signal_ns() : 0), terms.work_ns(moving + first_lines, (5 + 4 * others) * terms.pieces), 3, 2 * parts};
  }
  const double blocks = others * terms.block;
  const bool to_all = !is_rooted(request.collective);
  const bool one_reads = request.collective == Collective::gather;
  const double own = request.collective == Collective::reduce_scatter ? 0 : terms.copy(terms.block);
  double moving = 0;
  if (to_all) moving = own + (is_reduction(request.collective) ? terms.pull_and_add(blocks) : terms.pull(blocks));
  else if (one_reads) moving = terms.lopsided(own + terms.pull(blocks), own + terms.pull(blocks));
  else moving = terms.lopsided(std::max(own, terms.pull(terms.block)), own + terms.pull(blocks));
  return {terms.piped_ns(1) + terms.signal_ns(), terms.work_ns(moving + first_lines, (3 + 3 * others) * terms.pieces), 2, blocks};
}

}  // namespace

const Algorithm direct_algorithm{"direct", true, objection, shape, predict, program, false};

}  // namespace rondo::planner

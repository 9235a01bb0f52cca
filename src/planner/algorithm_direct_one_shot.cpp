// Direct one-shot: ranks read what they need where it is, in the peers' inputs, and stage nothing. For buffers that peers can read
// (docs/design/0010-symmetric-memory.md). Nobody ends before the others have read its input.
#include "planner/direct.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t copied_piece_bytes = 4u << 20;  ///< long, since all that happens between pieces is a look at the peers
constexpr std::uint32_t reduced_piece_bytes = 1u << 20;
constexpr std::uint32_t begun = 0;  ///< signals of a body: this rank's input may be read
constexpr std::uint32_t read = 1;   ///< it has read those of the others

/// Which block of its input a rank gives to rank `reader`.
std::uint32_t block_for(Collective collective, std::uint32_t reader) { return per_peer(collective) ? reader : 0; }

void fetch_blocks(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  const std::uint32_t block = block_for(header.collective, rank);
  lane.copy(input(block), {output(rank)});
  for (std::uint32_t k = 1; k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, begun);
    lane.copy(input_of(from, block), {output(from)});
  }
}

void fetch_and_reduce(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  wait_for_others(header, rank, begun, lane);
  lane.reduce(all_inputs(header, rank, block_for(header.collective, rank)), {output(0)}, true);
}

Program everybody(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  lane.signal();
  if (is_reduction(header.collective)) fetch_and_reduce(header, rank, lane);
  else fetch_blocks(header, rank, lane);
  lane.signal();
  wait_for_others(header, rank, read, lane);
  return lane.take_program();
}

/// The root reads the others' inputs.
Program to_root(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  lane.signal();
  if (rank != header.root) {
    lane.wait(header.root, read);
    return lane.take_program();
  }
  if (is_reduction(header.collective)) fetch_and_reduce(header, rank, lane);
  else fetch_blocks(header, rank, lane);
  lane.signal();
  return lane.take_program();
}

/// The others read the root's, or what is sent.
Program from_root(const PlanHeader& header, std::uint32_t rank) {
  const bool sent = header.collective == Collective::send_recv;
  const std::uint32_t root = root_of(header);
  const std::uint32_t block = block_for(header.collective, rank);
  LaneBuilder lane;
  lane.signal();
  if (rank == root) {
    if (!sent) lane.copy(input(block), {output(0)});
    wait_for_others(header, rank, read, lane);
  } else {
    lane.wait(root, begun);
    lane.copy(input_of(root, block), {output(0)});
    lane.signal();
  }
  return lane.take_program();
}

bool reads_one(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::scatter || collective == Collective::send_recv;
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  if (reads_one(header.collective)) return from_root(header, rank);
  return is_rooted(header.collective) ? to_root(header, rank) : everybody(header, rank);
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits& limits) {
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::all_to_all:
      if (request.alias == Alias::same || request.in_place_too) return "in place a rank would overwrite what others read";
      break;
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter:
    case Collective::send_recv: break;
    default: return other_collective;
  }
  return direct_objection(request, limits);
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  const bool overwrites = request.collective == Collective::all_reduce || request.collective == Collective::all_to_all;
  return {Protocol::direct, false, 1, 0, 0, 1, is_reduction(request.collective) ? reduced_piece_bytes : copied_piece_bytes, !overwrites};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double blocks = others * terms.block;
  const double copied = reads_one(request.collective) ? terms.block : blocks;
  // A rank's input is read by its peers, and by itself out of place and to combine alone.
  if (reads_one(request.collective)) terms.touches_of_its_own(terms.block);
  else if (!is_reduction(request.collective)) terms.touches_of_its_own(blocks + 2 * (1 - terms.in_place) * terms.block);
  if (!request.symmetric) terms.copied_by_kernel(is_rooted(request.collective) ? blocks / terms.ranks : blocks);
  const bool reduces = is_reduction(request.collective);
  const double own = reduces || request.collective == Collective::send_recv ? 0 : terms.keep(terms.block);
  double moving = 0;
  if (reads_one(request.collective)) moving = terms.lopsided(std::max(own, terms.pull_from_one(terms.block, 1, terms.ranks)), own + terms.pull(blocks));
  else if (is_rooted(request.collective)) moving = own + (reduces ? terms.pull_and_add(blocks) : terms.pull(blocks));
  else moving = own + (reduces ? terms.pull_and_add_from_all(blocks) : terms.pull_from_all(blocks));
  if (is_rooted(request.collective) && !reads_one(request.collective)) moving = terms.lopsided(moving, moving);
  if (!request.symmetric) moving += terms.by_kernel(copied, reads_one(request.collective) ? 1 : others);
  // In place what a reader writes to is what others read when it was the root.
  if (request.collective == Collective::broadcast) moving += terms.written_by_others(terms.block) * terms.in_place;
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(1) + terms.signal_ns(), terms.work_ns(moving + first_lines, (3 + 3 * others) * terms.pieces), 2, blocks};
}

}  // namespace

const Algorithm direct_one_shot_algorithm{"direct_one_shot", true, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

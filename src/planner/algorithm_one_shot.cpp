// One-shot: everybody lays what the others need into its own scratch, and fetches what it needs from all others' at
// once. Inlined, the payload rides in the flags' cache lines; staged, it goes through slots in pieces. Streamed is for what no cache holds: a rank first
// copies to its own output, past the caches, and then to the slot what that left in them. The other order lets readers begin sooner; but then both what is
// read and where it goes are misses, and the own output's stores are waited for alone (docs/design/0003-cost-model.md, "Predicted against measured").

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t least_piece_bytes = 8u << 10;
constexpr std::uint32_t piece_bytes = 64u << 10;
constexpr std::uint32_t exchanged_piece_bytes = 256u << 10;  ///< where everybody writes and reads, and nothing is combined

bool from_one(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::scatter || collective == Collective::send_recv;
}

bool to_one(Collective collective) {
  return collective == Collective::reduce || collective == Collective::gather;
}

/// Where rank `owner` keeps what `reader` fetches: blocks for the others, that of the rank behind it first.
std::uint32_t place_for(const PlanHeader& header, std::uint32_t owner, std::uint32_t reader) {
  if (!per_peer(header.collective)) return 0;
  return (reader > owner ? reader - owner : reader + header.ranks - owner) - 1;
}

std::uint32_t scratch_chunks(const Request& request) {
  if (request.collective == Collective::barrier) return 0;
  return per_peer(request.collective) ? request.ranks - 1 : 1;
}

void publish(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  if (per_peer(header.collective)) {
    const std::uint32_t above = header.ranks - 1 - rank;
    if (above != 0) lane.copy(input(rank + 1, above), {scratch(0, above)});
    if (rank != 0) lane.copy(input(0, rank), {scratch(above, rank)});
  } else if (header.collective != Collective::barrier) {
    lane.copy(input(0), {scratch(0)});
  }
  lane.signal();
}

/// What a rank has itself and gives itself, while its signal travels.
void keep_own(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  if (header.collective == Collective::all_gather) lane.copy(input(0), {output(rank)});
  if (header.collective == Collective::all_to_all) lane.copy(input(rank), {output(rank)});
  if (header.collective == Collective::broadcast) lane.copy(input(0), {output(0)});
  if (header.collective == Collective::scatter) lane.copy(input(rank), {output(0)});
}

/// Lays what a rank has into its slot, tells the others, and keeps what is its own.
using Lay = void (*)(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane);

void slot_first(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  publish(header, rank, lane);
  keep_own(header, rank, lane);
}

void output_first(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  lane.copy(input(0), {output(header.collective == Collective::all_gather ? rank : 0), scratch(0)});
  lane.signal();
}

void fetch_blocks(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  for (std::uint32_t k = 1; k < header.ranks; ++k) {
    const std::uint32_t from = peer(header, rank, k);
    lane.wait(from, 0);
    lane.copy(scratch_of(from, place_for(header, from, rank)), {output(from)});
  }
}

/// Contributions in the order of ranks, the own one from where it is: so everybody gets the same bits.
void fetch_and_reduce(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  Operands sources;
  sources.reserve(header.ranks);
  for (std::uint32_t from = 0; from < header.ranks; ++from) {
    const std::uint32_t own = per_peer(header.collective) ? rank : 0;
    sources.push_back(from == rank ? input(own) : scratch_of(from, place_for(header, from, rank)));
  }
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.wait(peer(header, rank, k), 0);
  lane.reduce(std::move(sources), {output(0)}, true);
}

/// Everybody reads everybody. A rank that publishes piece i has seen, one turn before, that all others published piece
/// i − 2, and so had read piece i − 4: with 4 slots nobody has to ask whether a slot is free.
Program symmetric(const PlanHeader& header, std::uint32_t rank, Lay lay) {
  LaneBuilder lane;
  lay(header, rank, lane);
  lane.skew = header.protocol == Protocol::inlined ? 0 : 1;
  if (header.collective == Collective::barrier)
    for (std::uint32_t k = 1; k < header.ranks; ++k) lane.wait(peer(header, rank, k), 0);
  else if (is_reduction(header.collective))
    fetch_and_reduce(header, rank, lane);
  else
    fetch_blocks(header, rank, lane);
  return lane.take_program();
}

/// One rank reads what the others have, or the others what one has. Readers signal that a slot is free again.
Program rooted(const PlanHeader& header, std::uint32_t rank, Lay lay) {
  const std::uint32_t root = root_of(header);
  const bool pieces = header.protocol != Protocol::inlined;
  LaneBuilder lane;
  if ((rank == root) == from_one(header.collective)) {
    for (std::uint32_t k = 1; pieces && k < header.ranks; ++k)
      if (rank == root || peer(header, rank, k) == root) lane.wait(peer(header, rank, k), 0, header.depth);
    lay(header, rank, lane);
    return lane.take_program();
  }
  if (rank != root) {
    lane.wait(root, 0);
    lane.copy(scratch_of(root, place_for(header, root, rank)), {output(0)});
  } else if (header.collective == Collective::gather) {
    lane.copy(input(0), {output(rank)});
    fetch_blocks(header, rank, lane);
  } else {
    fetch_and_reduce(header, rank, lane);
  }
  if (pieces) lane.signal();
  return lane.take_program();
}

/// Everybody reads the ranks below. The first rank waits for nobody but for its slots, so each turn of a rank runs while those
/// above are in an earlier one.
Program scan(const PlanHeader& header, std::uint32_t rank) {
  const bool pieces = header.protocol != Protocol::inlined;
  const bool read = rank + 1 < header.ranks;
  LaneBuilder lane;
  for (std::uint32_t above = rank + 1; pieces && above < header.ranks; ++above) lane.wait(above, above + 1 < header.ranks ? 1 : 0, header.depth);
  if (read) publish(header, rank, lane);
  if (rank == 0) {
    lane.copy(input(0), {output(0)}, true);
  } else {
    for (std::uint32_t below = 0; below < rank; ++below) lane.wait(below, 0);
    Operands sources;
    for (std::uint32_t below = 0; below < rank; ++below) sources.push_back(scratch_of(below, 0));
    sources.push_back(input(0));
    lane.reduce(std::move(sources), {output(0)}, true);
  }
  if (pieces && rank != 0) lane.signal();
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  if (header.collective == Collective::scan) return scan(header, rank);
  const bool one = from_one(header.collective) || to_one(header.collective);
  return one ? rooted(header, rank, slot_first) : symmetric(header, rank, slot_first);
}

Program streamed_program(const PlanHeader& header, std::uint32_t rank) {
  return header.collective == Collective::broadcast ? rooted(header, rank, output_first) : symmetric(header, rank, output_first);
}

/// Cache lines of one block.
std::uint32_t lines(const Request& request) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, (block_bytes(request) + inline_line_bytes - 1) / inline_line_bytes));
}

std::string_view common_objection(const Request& request) {
  if (request.collective == Collective::all_to_all_v) return other_collective;
  if (request.ranks > 64 && request.op == ReduceOp::premul_sum && is_reduction(request.collective))
    return "premul_sum scales one of 64 sources at most";
  return {};
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return common_objection(request);
}

std::string_view inline_objection(const Request& request, const CostModel&, const PlanLimits& limits) {
  if (request.collective == Collective::barrier) return "a barrier has no payload";
  if (request.collective == Collective::all_to_all_v) return other_collective;
  if (block_bytes(request) > limits.inline_bytes ||
      std::uint64_t{scratch_chunks(request)} * lines(request) * inline_line_bytes > limits.inline_bytes)
    return "the message is too long for the flags' cache lines";
  return common_objection(request);
}

/// The readers wait for the first piece, and then for a signal with each: the best piece balances the two. Each piece has a signal to the reader and one
/// back, and three steps on either side.
std::uint32_t one_way_piece(const Terms& terms) {
  return balanced_piece(terms.block, 2 * terms.timely_ns() + 3 * terms.cost.core.step_ns, terms.publish(1), least_piece_bytes, piece_bytes);
}

std::string_view streamed_objection(const Request& request, const CostModel&, const PlanLimits&) {
  const bool served = request.collective == Collective::broadcast || request.collective == Collective::all_gather;
  return served ? std::string_view() : other_collective;
}

/// A credit comes back one turn late where ranks don't all read one another; 4 slots cover that too.
Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  const std::uint32_t chunks = scratch_chunks(request);
  Shape shape{Protocol::staged, false, 1, chunks, chunks, 4, piece_bytes};
  const bool one_way = to_one(request.collective) || from_one(request.collective);
  if (one_way && cost.cores_per_rank >= 1) shape.piece_bytes = one_way_piece(Terms(request, cost, limits, shape));
  if (!one_way && !is_reduction(request.collective)) shape.piece_bytes = exchanged_piece_bytes;
  return shape;
}

Shape streamed_shape(const Request&, const CostModel&, const PlanLimits&) { return {Protocol::staged, false, 1, 1, 1, 4, piece_bytes}; }

Shape inline_shape(const Request& request, const CostModel&, const PlanLimits&) {
  const std::uint32_t chunks = scratch_chunks(request);
  return {Protocol::inlined, false, 1, chunks, chunks, 1, 0};
}

/// Blocks that one rank writes to its scratch, fetches from others', and keeps from its own input.
struct Traffic {
  double published, fetched, kept;
  double moved() const { return published + fetched + kept; }
};

Traffic traffic(const Request& request) {
  const double others = request.ranks - 1;
  switch (request.collective) {
    case Collective::all_reduce:
      return {1, others, 0};
    case Collective::reduce:
      return {1, others, 0};  // two ranks' parts: all the others', the root's
    case Collective::gather:
      return {1, others, 1};  // likewise
    case Collective::broadcast:
      return {1, 1, 1};  // the root's two, and any other's one
    case Collective::scatter:
      return {others, 1, 1};
    case Collective::send_recv:
      return {1, 1, 0};
    case Collective::scan:
      return {1, others, 0};  // the last rank's
    case Collective::reduce_scatter:
      return {others, others, 0};
    case Collective::all_gather:
      return {1, others, 1};
    case Collective::all_to_all:
      return {others, others, 1};
    case Collective::all_to_all_v:
    case Collective::barrier:
      break;
  }
  return {0, 0, 0};
}

double moving_ns(const Request& request, const Terms& terms) {
  const Traffic blocks = traffic(request);
  const double fetched = blocks.fetched * terms.block;
  const double out = terms.publish(blocks.published * terms.block * terms.in_scratch) + terms.keep(blocks.kept * terms.block);
  double pulled = terms.pull_from_all(fetched * terms.in_scratch);
  if (to_one(request.collective)) pulled = terms.pull(fetched);
  if (from_one(request.collective)) pulled = terms.pull_from_one(fetched, 1, terms.ranks);
  const double in = pulled + (is_reduction(request.collective) ? terms.add(fetched) : 0);
  const double others = terms.ranks - 1;
  // Both sides of a rooted collective work at the same time, the fetching one a piece behind.
  const double first = terms.publish(terms.piece);  // meanwhile the root copies what is its own
  if (to_one(request.collective)) {
    const double kept = blocks.kept * terms.keep(terms.block - terms.piece);
    return terms.lopsided(in + kept + std::max(first, blocks.kept * terms.keep(terms.piece)), others * out + in);
  }
  if (from_one(request.collective)) return terms.lopsided(first + std::max(in, out - first), out + others * in);
  // An all_reduce reads what is its own a second time, when the peers' parts have come: half of a copy, but for what the first cache still holds.
  const double again = request.collective == Collective::all_reduce ? terms.copy(std::max(0.0, terms.block - first_cache_bytes)) / 2 : 0;
  return out + in + again;
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  if (request.collective == Collective::barrier)
    return {terms.signal_ns(), terms.work_ns(terms.lines_of_all() - cost.line_ns, 1 + others), 1, 0};
  const double steps = (3 + others + (per_peer(request.collective) ? others : 0)) * terms.pieces;
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);  // flags and data; one of each is the message itself
  return {terms.piped_ns(1), terms.work_ns(moving_ns(request, terms) + first_lines, steps), 1,
          traffic(request).moved() * terms.block};
}

Cost streamed_predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const bool all = request.collective == Collective::all_gather;
  const double fetched = (all ? others : 1) * terms.block;
  // Of what goes past the caches memory is what counts, which work_ns() knows.
  const double kept = terms.keep(terms.block) * (1 - terms.beyond_caches());
  const double out = terms.publish(terms.block) + kept, first = terms.publish(terms.piece) + terms.keep(terms.piece);
  double moving = terms.keep(terms.piece) + out + terms.pull_from_all(fetched);
  if (!all) {
    // Readers take in the last piece once the root has done all of its own.
    const double in = terms.pull_from_one(fetched, 1, terms.ranks), last = terms.pull_from_one(terms.piece, 1, terms.ranks);
    moving = terms.lopsided(first + std::max(in, out - first + last), out + others * in);
  }
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(1), terms.work_ns(moving + first_lines, (2 + others) * terms.pieces), 1, 2 * terms.block + fetched};
}

Cost inline_predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const Traffic blocks = traffic(request);
  const double moved = blocks.moved() * terms.block;
  const double all_lines = (blocks.published + blocks.fetched) * lines(request);
  // One line is the signal itself.
  return {terms.signal_ns(), terms.work_ns((all_lines - 1) * cost.line_ns + terms.copy(moved), 2 + blocks.kept), 1,
          moved};
}

}  // namespace

const Algorithm inline_algorithm{"inline", true, inline_objection, inline_shape, inline_predict, program, Order::none};
const Algorithm one_shot_algorithm{"one_shot", true, objection, shape, predict, program, Order::none, nullptr, true};
const Algorithm one_shot_streamed_algorithm{
    "one_shot_streamed", true, streamed_objection, streamed_shape, streamed_predict, streamed_program, Order::none};

}  // namespace rondo::planner

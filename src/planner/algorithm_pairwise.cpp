// Pairwise exchange: every block goes straight from the rank that has it to the rank that wants it (Thakur, Rabenseifner,
// Gropp: "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005).
//
// Over links each pair has a FIFO of its own. A step then moves one pair's block and waits for that pair alone, so blocks may
// have lengths of their own (all_to_all_v): a pair whose block has ended leaves its steps out, and what remains is a part of
// what the verifier has proved (docs/design/0007-variable-blocks.md). Where ranks read one another's memory a few slots serve
// all peers in turn, however many there are.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t shared_slots = 4;  ///< that take turns between the peers, where ranks read one another's memory

std::uint32_t before(const PlanHeader& header, std::uint32_t rank, std::uint32_t k) {
  return (rank + header.ranks - k) % header.ranks;
}

/// In round k everybody sends to the rank k places on, so no two send to the same one. What arrives is taken a turn later: in
/// place the own block has left by then.
Program all_to_all_over_links(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.copy(input(peer(header, rank, k)), {link(peer(header, rank, k))});
  lane.copy(input(rank), {output(rank)});
  lane.skew = 1;
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.copy(link(before(header, rank, k)), {output(before(header, rank, k))});
  return lane.take_program();
}

Program scatter_over_links(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  if (rank != header.root) {
    lane.copy(link(header.root), {output(0)});
    return lane.take_program();
  }
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.copy(input(peer(header, rank, k)), {link(peer(header, rank, k))});
  lane.copy(input(rank), {output(0)});
  return lane.take_program();
}

Program gather(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  if (rank != header.root) {
    lane.copy(input(0), {link(header.root)});
    return lane.take_program();
  }
  lane.copy(input(0), {output(rank)});
  for (std::uint32_t k = 1; k < header.ranks; ++k) lane.copy(link(peer(header, rank, k)), {output(peer(header, rank, k))});
  return lane.take_program();
}

/// The last message before number `j` of a body that was in the same slot: its number, and how many pieces ago.
struct Tenant {
  std::uint32_t number;
  std::uint32_t lag;
};

Tenant tenant_before(const PlanHeader& header, std::uint32_t j) {
  const std::uint32_t slots = header.scratch_chunks;
  if (j >= slots) return {j - slots, 0};
  return {j + (header.ranks - 2 - j) / slots * slots, header.depth};
}

/// A tournament: in round k the ranks r and q with r + q ≡ k (mod p) meet and swap blocks; whoever would meet itself rests. In
/// place a block has so left before the one that takes its place arrives.
class Tournament {
 public:
  explicit Tournament(std::uint32_t ranks) : ranks_(ranks) {}
  std::uint32_t opponent(std::uint32_t rank, std::uint32_t round) const { return (round + ranks_ - rank) % ranks_; }
  std::uint32_t rest(std::uint32_t rank) const { return 2 * rank % ranks_; }
  /// The round of a rank's game number `game`, and back.
  std::uint32_t round(std::uint32_t rank, std::uint32_t game) const { return game + (game >= rest(rank) ? 1 : 0); }
  std::uint32_t game(std::uint32_t rank, std::uint32_t round) const { return round - (round > rest(rank) ? 1 : 0); }

 private:
  std::uint32_t ranks_;
};

Program all_to_all_through_slots(const PlanHeader& header, std::uint32_t rank) {
  const Tournament games(header.ranks);
  LaneBuilder lane;
  lane.copy(input(rank), {output(rank)});
  for (std::uint32_t game = 0; game + 1 < header.ranks; ++game) {
    const std::uint32_t round = games.round(rank, game);
    const std::uint32_t peer = games.opponent(rank, round);
    const std::uint32_t theirs = games.game(peer, round);
    const Tenant tenant = tenant_before(header, game);
    const std::uint32_t tenant_round = games.round(rank, tenant.number);
    const std::uint32_t reader = games.opponent(rank, tenant_round);
    lane.wait(reader, 2 * games.game(reader, tenant_round) + 1, tenant.lag);
    lane.copy(input(peer), {scratch(game % header.scratch_chunks)});
    lane.signal();
    lane.wait(peer, 2 * theirs);
    lane.copy(scratch_of(peer, theirs % header.scratch_chunks), {output(peer)});
    lane.signal();
  }
  return lane.take_program();
}

Program scatter_through_slots(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  if (rank != header.root) {
    const std::uint32_t number = before(header, rank, header.root) - 1;
    lane.wait(header.root, number);
    lane.copy(scratch_of(header.root, number % header.scratch_chunks), {output(0)});
    lane.signal();
    return lane.take_program();
  }
  for (std::uint32_t number = 0; number + 1 < header.ranks; ++number) {
    const Tenant tenant = tenant_before(header, number);
    lane.wait(peer(header, rank, tenant.number + 1), 0, tenant.lag);
    lane.copy(input(peer(header, rank, number + 1)), {scratch(number % header.scratch_chunks)});
    lane.signal();
  }
  lane.copy(input(rank), {output(0)});
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  switch (header.collective) {
    case Collective::gather:
      return gather(header, rank);
    case Collective::scatter:
      return header.neutral ? scatter_over_links(header, rank) : scatter_through_slots(header, rank);
    default:
      return header.neutral ? all_to_all_over_links(header, rank) : all_to_all_through_slots(header, rank);
  }
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_to_all:
    case Collective::all_to_all_v:
    case Collective::gather:
    case Collective::scatter:
      return {};
    default:
      return other_collective;
  }
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  if (request.collective == Collective::gather) return {Protocol::staged, true, 1, 0, 1, 4, longest_piece(limits)};
  if (request.collective == Collective::all_to_all_v || limits.reach != Reach::memory)
    return {Protocol::staged, true, 1, 0, request.ranks - 1, 4, longest_piece(limits)};
  const std::uint32_t slots = std::min(shared_slots, request.ranks - 1);
  return {Protocol::staged, false, 1, slots, slots, 2, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double far = others * terms.block;
  const double own = terms.keep(terms.block);
  const double steps = (6 * others + 1) * terms.pieces;
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);  // a flag and data of each peer; one of each is the message itself
  if (is_rooted(request.collective)) {
    const double first = terms.publish(terms.piece);  // meanwhile the root of a gather copies what is its own
    const double gathered = terms.pull(far) + std::max(first, terms.keep(terms.piece)) + terms.keep(terms.block - terms.piece);
    const double scattered = first + std::max(terms.pull(terms.block), terms.publish(far) - first + own);
    const double busiest = request.collective == Collective::gather ? gathered : scattered;
    const double all = terms.publish(far) + terms.pull(far) + own;
    return {terms.piped_ns(1), terms.work_ns(terms.lopsided(busiest, all) + first_lines, steps), 1, far + terms.block};
  }
  const double moving = terms.publish(far) + terms.pull_from_all(far) + own + first_lines;
  const double rounds = shape.neutral ? 1 : others;
  const double waits = shape.neutral ? terms.piped_ns(1) : rounds * terms.pieces * terms.message_ns();
  return {waits, terms.work_ns(moving, steps), rounds, 2 * far + terms.block};
}

}  // namespace

const Algorithm pairwise_algorithm{"pairwise", false, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

// Direct push and pull: a block that goes from one rank to another is copied by both. The receiver takes its chunks from the first one on, where they lie in
// the sender's input, the sender the last ones, which it stores in the receiver's output; each chunk is made once, by whoever comes to it first. So both end
// together, wherever one has a block of its own to copy besides or reads faster than the other writes. A root shares each block with its rank so. For buffers
// that peers can read and write (docs/design/0010-symmetric-memory.md).
#include <bit>

#include "planner/direct.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t most_chunks = 16;        ///< of a block
constexpr std::uint32_t piece_bytes = 4u << 20;  ///< long, since all that happens between pieces is a look at the peers
constexpr std::uint32_t begun = 0;               ///< signals of a body: this rank's input may be read, its output written
constexpr std::uint32_t copied = 1;              ///< it has no chunk to make any more

/// The least chunk that is worth a look at who makes it, or a call of the kernel.
constexpr std::uint64_t least_chunk(bool symmetric) { return symmetric ? 32u << 10 : 64u << 10; }

/// Between the root and one other rank: which block of the sender's input, which one of the receiver's output.
struct Transfer {
  std::uint32_t from, input_block, to, output_block;
};

Transfer transfer_of(const PlanHeader& header, std::uint32_t other) {
  if (header.collective == Collective::gather) return {other, 0, header.root, other};
  return {root_of(header), header.collective == Collective::scatter ? other : 0, other, 0};
}

/// Chunks that one rank makes together, by a word for each share.
struct Share {
  std::uint32_t first, chunks, word;
};

/// A block's shares: where both begin at once they meet in the middle, which a share ends at; where the root comes late they meet towards the end, where shares
/// are short. The words of the halves lie apart, so that neither end waits for the other's line until they meet.
ShortList<Share, 8> shares(std::uint32_t chunks) {
  ShortList<Share, 8> all;
  std::uint32_t first = 0;
  while (first < chunks) {
    const std::uint32_t parts = first < chunks / 2 ? 4 : first < chunks - chunks / 4 ? 8 : 16;
    const std::uint32_t length = std::max(1u, chunks / parts);
    all.push_back({first, length, static_cast<std::uint32_t>(all.size()) + (parts == 4 ? 0 : 8)});
    first += length;
  }
  return all;
}

/// A share of what goes between the root and another rank, as either of them copies it.
void copy_share(const PlanHeader& header, std::uint32_t rank, std::uint32_t other, const Share& share, LaneBuilder& lane) {
  const Transfer transfer = transfer_of(header, other);
  const auto named = [&](std::uint32_t owner) { return owner == rank ? self : owner; };
  const std::uint32_t chunks = header.chunks_per_block;
  lane.copy_once({other, share.word}, {Buffer::input, named(transfer.from), transfer.input_block * chunks + share.first, share.chunks},
                 {Buffer::output, named(transfer.to), transfer.output_block * chunks + share.first, share.chunks});
}

/// A root's own block, where it has one.
void keep_block(const PlanHeader& header, LaneBuilder& lane) {
  if (header.collective == Collective::send_recv) return;
  const std::uint32_t chunks = header.chunks_per_block;
  const std::uint32_t from = header.collective == Collective::scatter ? header.root : 0, to = header.collective == Collective::gather ? header.root : 0;
  lane.copy(input(from * chunks, chunks), {output(to * chunks, chunks)});
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t root = root_of(header);
  const auto all = shares(header.chunks_per_block);
  LaneBuilder lane;
  lane.signal();
  if (rank == root) {
    keep_block(header, lane);  // which nobody else can do
    for (std::size_t s = all.size(); s-- > 0;)
      for (std::uint32_t k = 1; k < header.ranks; ++k) {
        const std::uint32_t other = peer(header, rank, k);
        if (s + 1 == all.size()) lane.wait(other, begun);
        copy_share(header, rank, other, all[s], lane);
      }
    lane.signal();
    wait_for_others(header, rank, copied, lane);
  } else {
    lane.wait(root, begun);
    for (const Share& share : all) copy_share(header, rank, rank, share, lane);
    lane.signal();
    lane.wait(root, copied);
  }
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits& limits) {
  switch (request.collective) {
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter: break;
    case Collective::send_recv:
      if (request.symmetric) return "of a message in such memory its receiver makes the only copy";
      break;
    default: return other_collective;
  }
  if (!limits.shares_out) return "these ranks share out no copies";
  return direct_objection(request, limits);
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  const auto chunks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(block_bytes(request) / least_chunk(request.symmetric), 2, most_chunks));
  return {Protocol::direct, false, std::bit_floor(chunks), 0, 0, 1, piece_bytes};
}

/// Until all chunks are made, by `others` ranks of which each takes `other_ns` for a block, and a root that takes `root_ns` and begins at `own_ns`.
double shared_ns(double others, double other_ns, double root_ns, double own_ns) {
  if (own_ns >= other_ns || root_ns <= 0) return own_ns;
  return (others + own_ns / root_ns) / (others / other_ns + 1 / root_ns);
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1, in_block = static_cast<double>(shares(shape.chunks_per_block).size());
  const bool gathers = request.collective == Collective::gather;
  const double kernel = request.symmetric ? 0 : terms.by_kernel(terms.block, in_block);
  const double pulled = kernel + (gathers ? terms.pull(terms.block) : terms.pull_from_one(terms.block, 1, terms.ranks));
  const double pushed = kernel + (request.symmetric ? terms.publish(terms.block) : terms.pull(terms.block));  // the kernel's copies take as long either way
  const double own = request.collective == Collective::send_recv ? 0 : terms.keep(terms.block);
  const double other = gathers ? pushed : pulled;
  const double shared = shared_ns(others, other, gathers ? pulled : pushed, own);
  const double moved = terms.block * std::min(1.0, shared / std::max(1.0, other));  // by a rank other than the root
  terms.touches_of_its_own(2 * moved);
  if (!request.symmetric) terms.copied_by_kernel(others * terms.block / terms.ranks);
  // Out of place the two meet somewhere within a share, often one of a chunk.
  double moving = terms.lopsided(shared + (1 - terms.in_place) * other / shape.chunks_per_block / 2, own + others * other);
  // In place, what a root reads and others write to is what others have read and written when they were the root.
  if (request.collective == Collective::broadcast) moving += terms.written_by_others(moved) * terms.in_place;
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);
  const double words = terms.crowded() ? 0 : 2 * cost.latency_ns;  // by which copies are shared out: where a rank begins, and where the two meet
  return {terms.piped_ns(1) + terms.signal_ns() + words, terms.work_ns(moving + first_lines, (4 + others * (2 + 2 * in_block)) * terms.pieces), 2, moved};
}

}  // namespace

const Algorithm direct_push_pull_algorithm{"direct_push_pull", true, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

// Direct push and pull: of a block that goes from one rank to another, the sender stores one part in the receiver's output while the receiver reads the
// others where they are, so that neither waits for the other's copying. With p ranks a block has p parts, and each rank copies as much as any other: a root
// that sends pushes one part to everybody, one that receives pulls one part from everybody. For buffers that peers can read and write
// (docs/design/0010-symmetric-memory.md).
#include "planner/direct.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 4u << 20;  ///< long, since all that happens between pieces is a look at the peers
constexpr std::uint32_t begun = 0;               ///< signals of a body: this rank's input may be read, its output written
constexpr std::uint32_t copied = 1;              ///< it has copied its parts

/// The root copies the last part of each block, others the parts before it.
Operand parts_of(Buffer buffer, std::uint32_t rank, std::uint32_t block, bool by_root, const PlanHeader& header) {
  const std::uint32_t parts = header.chunks_per_block;
  return by_root ? Operand{buffer, rank, block * parts + parts - 1, 1} : Operand{buffer, rank, block * parts, parts - 1};
}

/// Between the root and one other rank: which block of the sender's input, which one of the receiver's output.
struct Transfer {
  std::uint32_t from, input_block, to, output_block;
};

Transfer transfer_of(const PlanHeader& header, std::uint32_t other) {
  if (header.collective == Collective::gather) return {other, 0, header.root, other};
  return {root_of(header), header.collective == Collective::scatter ? other : 0, other, 0};
}

/// A rank's copy of its part of a transfer: the sender's is a push, the receiver's a pull.
void copy_parts(const PlanHeader& header, std::uint32_t rank, const Transfer& transfer, LaneBuilder& lane) {
  const bool by_root = rank == root_of(header);
  const auto named = [&](std::uint32_t owner) { return owner == rank ? self : owner; };
  lane.copy(parts_of(Buffer::input, named(transfer.from), transfer.input_block, by_root, header),
            {parts_of(Buffer::output, named(transfer.to), transfer.output_block, by_root, header)});
}

/// A root's own block, where it has one.
void keep_block(const PlanHeader& header, LaneBuilder& lane) {
  if (header.collective == Collective::send_recv) return;
  const std::uint32_t parts = header.chunks_per_block;
  const std::uint32_t from = header.collective == Collective::scatter ? header.root : 0, to = header.collective == Collective::gather ? header.root : 0;
  lane.copy(input(from * parts, parts), {output(to * parts, parts)});
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t root = root_of(header);
  LaneBuilder lane;
  lane.signal();
  if (rank == root) {
    for (std::uint32_t k = 1; k < header.ranks; ++k) {
      const std::uint32_t other = peer(header, rank, k);
      lane.wait(other, begun);
      copy_parts(header, rank, transfer_of(header, other), lane);
    }
    lane.signal();
    keep_block(header, lane);
    wait_for_others(header, rank, copied, lane);
  } else {
    lane.wait(root, begun);
    copy_parts(header, rank, transfer_of(header, rank), lane);
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
  return direct_objection(request, limits);
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) { return {Protocol::direct, false, request.ranks, 0, 0, 1, piece_bytes}; }

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  Terms terms(request, cost, limits, shape);
  const double others = terms.ranks - 1;
  const double parts = others * terms.chunk;  // that the root copies, and each of the others
  terms.touches_of_its_own(2 * parts);
  if (!request.symmetric) terms.copied_by_kernel(parts, parts);
  const bool gathers = request.collective == Collective::gather;
  const double pulled = gathers ? terms.pull(parts) : terms.pull_from_one(parts, 1, terms.ranks);
  const double pushed = request.symmetric ? terms.publish(parts) : terms.pull(parts);  // the kernel's copies take as long either way
  const double kernel = request.symmetric ? 0 : terms.by_kernel(parts, others);
  const double own = request.collective == Collective::send_recv ? 0 : terms.keep(terms.block);
  const double root = own + kernel + (gathers ? pulled : pushed);
  const double other = kernel + (gathers ? pushed : pulled);
  double moving = terms.lopsided(std::max(root, other), root + others * other);
  // In place, what a root reads and others write to is what others have read and written when they were the root.
  if (request.collective == Collective::broadcast) moving += (terms.publish(parts) - terms.copy(parts)) * terms.in_place;
  const double first_lines = 2 * (terms.lines_of_all() - cost.line_ns);
  return {terms.piped_ns(1) + terms.signal_ns(), terms.work_ns(moving + first_lines, (3 + 3 * others) * terms.pieces), 2, parts};
}

}  // namespace

const Algorithm direct_push_pull_algorithm{"direct_push_pull", true, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

// Hierarchical: groups of ranks that are near one another lie in larger groups (header.groups), up to all ranks. At each level a rank has to do with one
// rank of each of the groups beside its own: its fellow, in its own place there or in the root's, or of a scan the last one. Reductions run inside the
// smallest groups first, then a level further out with what is left; what is gathered runs the other way. So each byte goes from one group to another once,
// and is spread inside.
#include <algorithm>
#include <bit>

#include "planner/hierarchical.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 64u << 10;
constexpr std::uint32_t most_scaled = 64;  ///< of a reduction's sources, one of which premul_sum scales

Program program(const PlanHeader& header, std::uint32_t rank) {
  switch (header.collective) {
    case Collective::all_reduce:
    case Collective::reduce: return hierarchical::reduce_and_gather(header, rank);
    case Collective::reduce_scatter: return hierarchical::reduce_scatter(header, rank);
    case Collective::scan: return hierarchical::scan(header, rank);
    case Collective::broadcast: return hierarchical::broadcast(header, rank);
    case Collective::all_gather: return hierarchical::all_gather(header, rank);
    case Collective::gather: return hierarchical::gather(header, rank);
    case Collective::scatter: return hierarchical::scatter(header, rank);
    case Collective::barrier: return hierarchical::barrier(header, rank);
    case Collective::all_to_all:
    case Collective::all_to_all_v:
    case Collective::send_recv: break;  // objection() says no
  }
  return {};
}

/// Contiguous groups of a power of two compose the one tree (0009-strict.md). Contributions are in the smallest groups alone, but of a scan a group's first
/// rank has combined nothing there.
bool serves(const Level& level, const Request& request) {
  if (!is_reduction(request.collective)) return true;
  const bool scans = request.collective == Collective::scan;
  const std::uint32_t sources = scans ? std::max(level.ranks, request.ranks / level.ranks) : level.ranks;
  if (request.op == ReduceOp::premul_sum && sources > most_scaled) return false;
  if (scans && !level.by_number) return false;
  return !request.strict || (level.by_number && std::has_single_bit(level.ranks));
}

/// A bit for each level that serves.
std::uint32_t serving_levels(const CostModel& cost, const Request& request) {
  constexpr std::size_t most_levels = 5;  // hyperthreads of a core, cache, memory, socket, host
  std::uint32_t levels = 0;
  for (std::size_t k = 0; k < std::min(cost.levels.size(), most_levels); ++k)
    if (serves(cost.levels[k], request)) levels |= 1u << k;
  return levels;
}

std::string_view objection(const Request& request, const CostModel& cost, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_to_all:  // each block crosses once in any case, and is copied once more for each level
    case Collective::all_to_all_v:
    case Collective::send_recv: return other_collective;
    default: break;
  }
  if (cost.levels.empty()) return "no cache, memory or socket parts the ranks into equal groups";
  Request loose = request;
  loose.strict = false;
  if (serving_levels(cost, loose) != 0) return {};
  loose.op = ReduceOp::sum;
  return serving_levels(cost, loose) != 0 ? "premul_sum scales one of 64 sources at most" : "its groups aren't runs of ranks, as a scan's have to be";
}

std::string_view departure(const Request& request, const CostModel& cost) {
  if (stores_rounded(request)) return "it stores what is combined in part, which rounds this type";
  return serving_levels(cost, request) != 0 ? std::string_view() : "its groups aren't runs of a power of two of ranks, as the one tree's are";
}

std::uint32_t smallest_group(const CostModel& cost, std::uint32_t levels) { return cost.levels[static_cast<std::size_t>(std::countr_zero(levels))].ranks; }
std::uint32_t largest_group(const CostModel& cost, std::uint32_t levels) { return cost.levels[static_cast<std::size_t>(std::bit_width(levels)) - 1].ranks; }

Shape shape_of(const Request& request, const CostModel& cost, std::uint32_t levels) {
  const std::uint32_t p = request.ranks;
  const auto ways = static_cast<std::uint32_t>(std::popcount(levels)) + 1;
  const auto staged = [&](std::uint32_t chunks, std::uint32_t depth) { return Shape{Protocol::staged, false, 1, chunks, chunks, depth, piece_bytes}; };
  Shape shape;
  switch (request.collective) {
    case Collective::reduce_scatter: shape = staged(p, ways + 2); break;
    case Collective::all_gather: shape = staged(p / smallest_group(cost, levels), ways + 3); break;
    case Collective::gather: shape = staged(largest_group(cost, levels), 4); break;
    case Collective::scatter: shape = staged(p, 4); break;
    case Collective::broadcast:
    case Collective::scan: shape = staged(1, 4); break;
    case Collective::barrier: shape = staged(0, 2); break;
    default: shape = {Protocol::staged, false, p, p, p, 2 * ways + 1, piece_bytes};
  }
  shape.levels = levels;
  return shape;
}

/// Calls `visit(inner, outer)` for each level, nearest first: one of every `inner` ranks among `outer` is a fellow.
template <class Visitor>
void for_each_level(const CostModel& cost, const Shape& shape, double ranks, Visitor&& visit) {
  double inner = 1;
  for (std::size_t k = 0; k < cost.levels.size(); ++k) {
    if ((shape.levels >> k & 1) == 0) continue;
    visit(inner, static_cast<double>(cost.levels[k].ranks));
    inner = cost.levels[k].ranks;
  }
  visit(inner, ranks);
}

/// Messages of one way through the levels, and the lines of flags and data: one from each fellow, of which one a level is the message itself.
struct Way {
  Way(const Terms& terms, const Shape& shape) {
    for_each_level(terms.cost, shape, terms.ranks, [&](double inner, double outer) {
      ++rounds;
      fellows += outer / inner - 1;
      lines_ns += terms.lines_among(inner, outer) - terms.line_within(outer);
      if (!terms.crowded()) waits_ns += terms.piped_ns(1, terms.latency_within(outer));
    });
    if (terms.crowded()) waits_ns = terms.piped_ns(rounds);
  }
  double rounds = 0, fellows = 0, lines_ns = 0, waits_ns = 0;
};

/// Leaders of the outermost level, who read over the longest way and have the most readers, are the bottleneck, or the root is.
Cost predict_broadcast(const Terms& terms, const Shape& shape) {
  const Way way(terms, shape);
  double busiest = terms.keep(terms.block) + terms.publish(terms.block), all = busiest, fill = 0;
  for_each_level(terms.cost, shape, terms.ranks, [&](double inner, double outer) {
    const double own = terms.pull_from_one(1, inner, outer) + (inner > 1 ? terms.publish(1) : 0);
    busiest = std::max(busiest, own * terms.block);
    fill += own * terms.piece;
    all += (terms.ranks / inner - terms.ranks / outer) * own * terms.block;
  });
  return {way.waits_ns, terms.work_ns(terms.lopsided(busiest + fill, all) + 2 * way.lines_ns, (4 + way.fellows) * terms.pieces), way.rounds, 2 * terms.block};
}

/// The root has to do with every block; leaders have copied those of their groups once more by then, or do so behind it, a piece at a time. Each of a run of
/// blocks is a step.
Cost predict_blocks(const Terms& terms, const Shape& shape, bool gathers) {
  const Way way(terms, shape);
  const double far = (terms.ranks - 1) * terms.block;
  double relays = 0, longest_relay = 0, levels = 0;  // a byte of each block of a group, at each level; and how often
  for_each_level(terms.cost, shape, terms.ranks, [&](double inner, double outer) {
    if (inner == 1) return;
    const double relay = inner * (terms.pull_within(gathers ? inner : outer) + terms.publish(1));
    relays += relay;
    longest_relay = std::max(longest_relay, relay);
    ++levels;
  });
  const double root = (gathers ? terms.pull(far) : terms.publish(far)) + terms.keep(terms.block);
  const double others = gathers ? terms.publish(far) : terms.pull(far);
  const double fill = relays * terms.piece + (gathers ? terms.publish(terms.piece) : terms.pull(terms.piece));
  const double all = root + others + levels * terms.ranks * (terms.pull(terms.block) + terms.publish(terms.block));
  const double moving = terms.lopsided(std::max(root, longest_relay * terms.block) + fill, all);
  return {way.waits_ns, terms.work_ns(moving + 2 * way.lines_ns, (3 + way.fellows + terms.ranks) * terms.pieces), way.rounds, 2 * far};
}

/// The last rank hears from the most; before, the last one of the first group has seen that all who are outside it have heard what it told.
Cost predict_scan(const Terms& terms, const Shape& shape) {
  const Way way(terms, shape);
  double moving = 2 * terms.publish(terms.block), outside = 0;
  for_each_level(terms.cost, shape, terms.ranks, [&](double inner, double outer) {
    const double read = (outer / inner - 1) * terms.block;
    moving += terms.pull_among(read, inner, outer) + terms.add(read);
    outside = terms.ranks - inner;
  });
  const double credits = terms.pieces > shape.depth ? terms.lines_among(terms.ranks - outside, terms.ranks) * (terms.ranks - outside) : 0;
  return {way.waits_ns, terms.work_ns(moving + 2 * way.lines_ns + credits, (4 + 2 * way.fellows + outside) * terms.pieces), way.rounds,
          (2 + way.fellows) * terms.block};
}

Cost predict_barrier(const Terms& terms, const Shape& shape) {
  const Way way(terms, shape);
  double waits = 0;
  for_each_level(terms.cost, shape, terms.ranks, [&](double, double outer) { waits += terms.crowded() ? terms.signal_ns() : terms.latency_within(outer); });
  return {waits, terms.work_ns(way.lines_ns, way.rounds + way.fellows), way.rounds, 0};
}

/// At a level a rank reads from each fellow what its column has to do with further out: a chunk for each group of the outer size.
Cost predict_symmetric(const Request& request, const Terms& terms, const Shape& shape) {
  const CostModel& cost = terms.cost;
  const bool gathers = request.collective != Collective::reduce_scatter;
  const bool reduces = request.collective != Collective::all_gather;
  const bool by_blocks = !reduces || !gathers;  // a step for each
  const Way way(terms, shape);
  double pulled = 0, stored = 0, moving = 0, steps = 0;
  for_each_level(cost, shape, terms.ranks, [&](double inner, double outer) {
    const double kept = terms.ranks / outer;
    const double read = (outer / inner - 1) * kept * terms.chunk;
    pulled += read;
    stored += kept * terms.chunk;
    moving += terms.pull_among(read, inner, outer);
    steps += by_blocks ? kept * (reduces ? outer / inner : outer / inner - 1) : 1;
  });
  // At the innermost level what is gathered goes to the output alone, further out to scratch too.
  const double inmost = (smallest_group(cost, shape.levels) - 1) * terms.ranks / smallest_group(cost, shape.levels) * terms.chunk;
  double work = 0, moved = 0, ways = 0;
  if (reduces) {
    work += moving + terms.add(pulled) + terms.publish(inmost) + terms.copy(stored);
    moved += inmost + pulled;
    ++ways;
  }
  if (gathers) {
    work += moving + terms.publish(pulled - inmost) + (reduces ? 0 : terms.publish(terms.chunk) + terms.keep(terms.chunk));
    moved += pulled;
    ++ways;
  }
  const double turns = 3 + ways * (way.fellows + 2 * way.rounds) + (by_blocks ? steps : way.fellows);
  return {ways * way.waits_ns, terms.work_ns(work + 2 * ways * way.lines_ns, turns * terms.pieces), ways * way.rounds, moved};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  switch (request.collective) {
    case Collective::broadcast: return predict_broadcast(terms, shape);
    case Collective::gather:
    case Collective::scatter: return predict_blocks(terms, shape, request.collective == Collective::gather);
    case Collective::scan: return predict_scan(terms, shape);
    case Collective::barrier: return predict_barrier(terms, shape);
    default: return predict_symmetric(request, terms, shape);
  }
}

/// Which levels to follow: those whose plan costs least.
Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  const std::uint32_t serving = serving_levels(cost, request);
  Shape best;
  double least = 0;
  for (std::uint32_t levels = serving; levels != 0; levels = (levels - 1) & serving) {
    const Shape made = shape_of(request, cost, levels);
    const double total = predict(request, cost, limits, made).total_ns();
    if (best.levels != 0 && total >= least) continue;
    best = made;
    least = total;
  }
  return best;
}

}  // namespace

const Algorithm hierarchical_algorithm{"hierarchical", true, objection, shape, predict, program, Order::places, departure};

}  // namespace rondo::planner

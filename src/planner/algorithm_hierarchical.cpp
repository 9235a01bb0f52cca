// Hierarchical: groups of ranks that are near one another lie in larger groups (header.groups), up to all ranks. At each level a rank has to do with one
// rank of each of the groups beside its own, those in its own place there: its fellows. Reductions run inside the smallest groups first, then a level
// further out with what is left; what is gathered runs the other way. So each byte goes from one group to another once, and is spread inside.
#include <algorithm>
#include <bit>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 64u << 10;
constexpr std::uint32_t most_scaled = 64;  ///< of a reduction's sources, one of which premul_sum scales

/// One rank among the groups; level 0 is that inside the smallest ones. Positions are places along header.order.
class Place {
 public:
  Place(const PlanHeader& header, std::uint32_t rank) : header_(header), position_(position_of(header, rank)) {}

  std::uint32_t levels() const { return static_cast<std::uint32_t>(header_.groups.size()) + 1; }
  std::uint32_t at(std::uint32_t position) const { return rank_at(header_, position); }
  /// Ranks of a group of level `level`'s members: 1, then header.groups, and all ranks for one level more than there are.
  std::uint32_t unit(std::uint32_t level) const { return level == 0 ? 1 : level == levels() ? header_.ranks : header_.groups[level - 1]; }
  std::uint32_t fellows(std::uint32_t level) const { return unit(level + 1) / unit(level); }  ///< of a level, the rank itself included
  std::uint32_t number(std::uint32_t level) const { return position_ / unit(level) % fellows(level); }  ///< the rank's own among them
  std::uint32_t fellow(std::uint32_t level, std::uint32_t of) const { return at(position_ - number(level) * unit(level) + of * unit(level)); }
  std::uint32_t others(std::uint32_t level, std::uint32_t k) const { return (number(level) + k) % fellows(level); }  ///< all but itself: 1 ≤ k < fellows

  /// Positions that are the rank's own place in all groups of unit(level).
  std::vector<std::uint32_t> column(std::uint32_t level) const {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t position = position_ % unit(level); position < header_.ranks; position += unit(level)) positions.push_back(position);
    return positions;
  }
  /// The rank of this rank's group of unit(level) that is in `other`'s place.
  std::uint32_t counterpart(std::uint32_t level, const Place& other) const { return at(position_ - position_ % unit(level) + other.position_ % unit(level)); }
  bool shares_group(std::uint32_t level, const Place& other) const { return position_ / unit(level) == other.position_ / unit(level); }

 private:
  const PlanHeader& header_;
  std::uint32_t position_;
};

void wait_for_fellows(const Place& place, std::uint32_t level, std::uint32_t signal, LaneBuilder& lane) {
  for (std::uint32_t k = 1; k < place.fellows(level); ++k) lane.wait(place.fellow(level, place.others(level, k)), signal);
}

/// `count` chunks of what the fellows have: contributions at first, the own ones from the input, then what groups have combined.
Operands of_fellows(const Place& place, std::uint32_t level, std::uint32_t first, std::uint32_t count) {
  Operands sources;
  sources.reserve(place.fellows(level));
  for (std::uint32_t of = 0; of < place.fellows(level); ++of) {
    if (of != place.number(level)) sources.push_back(scratch_of(place.fellow(level, of), first, count));
    else sources.push_back(level == 0 ? input(first, count) : scratch(first, count));
  }
  return sources;
}

/// Chunks of the message that a rank still has to do with: all of them, then its share among its fellows of each level.
struct Span {
  std::uint32_t first = 0, count = 0;
  Span share(const Place& place, std::uint32_t level, std::uint32_t of) const {
    const std::uint32_t part = count / place.fellows(level);
    return {first + of * part, part};
  }
};

/// Whose chunk of the result goes where: the user's, and to whom it is handed on.
Operands both(bool to_output, bool to_scratch, const Span& span) {
  Operands to;
  if (to_output) to.push_back(output(span.first, span.count));
  if (to_scratch) to.push_back(scratch(span.first, span.count));
  return to;
}

/// A rank publishes piece t in turn t, and each level of either way is a turn later: 2 L turns for L levels. Signal s says that s levels are combined,
/// signal L + s that s levels are gathered. With 2 L + 1 slots nobody asks whether one is free: who combines piece i at the first level has seen those
/// who read it last publish piece i, so they had done with piece i − 2 L − 1.
Program reduce_and_gather(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  const Place root(header, header.root);
  const bool all = header.collective == Collective::all_reduce;
  const bool keeps = has_output(header, rank);
  const std::uint32_t levels = place.levels();
  std::vector<Span> spans{{0, header.ranks}};
  for (std::uint32_t level = 0; level < levels; ++level) spans.push_back(spans.back().share(place, level, place.number(level)));
  LaneBuilder lane;
  const std::uint32_t behind = spans[1].first + spans[1].count;
  if (spans[1].first != 0) lane.copy(input(0, spans[1].first), {scratch(0, spans[1].first)});
  if (behind != header.ranks) lane.copy(input(behind, header.ranks - behind), {scratch(behind, header.ranks - behind)});
  lane.signal();
  for (std::uint32_t level = 0; level < levels; ++level) {
    const Span span = spans[level + 1];
    const bool last = level + 1 == levels;
    ++lane.skew;
    wait_for_fellows(place, level, level, lane);
    lane.reduce(of_fellows(place, level, span.first, span.count), both(last && keeps, !last || all || !keeps, span), last);
    lane.signal();
  }
  for (std::uint32_t level = levels; level-- > 0;) {
    if (!all && !place.shares_group(level, root)) break;
    ++lane.skew;
    const std::uint32_t signal = 2 * levels - 1 - level;
    for (std::uint32_t k = 1; k < place.fellows(level); ++k) {
      const std::uint32_t of = place.others(level, k);
      const Span span = spans[level].share(place, level, of);
      lane.wait(place.fellow(level, of), signal);
      lane.copy(scratch_of(place.fellow(level, of), span.first, span.count), both(keeps, level != 0 && (all || !keeps), span));
    }
    if (level != 0) lane.signal();
  }
  return lane.take_program();
}

/// Chunks are the ranks' blocks. The own column's aren't published: nobody else of the group combines them.
Program reduce_scatter(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  LaneBuilder lane;
  std::vector<std::uint32_t> kept = place.column(1);
  for (std::uint32_t& position : kept) position = place.at(position);
  std::sort(kept.begin(), kept.end());
  kept.push_back(header.ranks);
  std::uint32_t first = 0;
  for (const std::uint32_t next : kept) {
    if (next > first) lane.copy(input(first, next - first), {scratch(first, next - first)});
    first = next + 1;
  }
  lane.signal();
  for (std::uint32_t level = 0; level < place.levels(); ++level) {
    const bool last = level + 1 == place.levels();
    ++lane.skew;
    wait_for_fellows(place, level, level, lane);
    for (const std::uint32_t position : place.column(level + 1)) {
      const std::uint32_t block = place.at(position);
      lane.reduce(of_fellows(place, level, block, 1), {last ? output(0) : scratch(block)}, last);
    }
    if (!last) lane.signal();
  }
  return lane.take_program();
}

/// Scratch holds the blocks of those who are in the own place in the smallest groups, a chunk for each of these groups. The last level's are for the
/// output alone.
Program all_gather(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  const auto slot = [&](std::uint32_t position) { return position / place.unit(1); };
  LaneBuilder lane;
  lane.copy(input(0), {scratch(slot(place.column(place.levels())[0])), output(rank)});
  lane.signal();
  for (std::uint32_t level = place.levels(); level-- > 0;) {
    const std::uint32_t signal = place.levels() - 1 - level;
    ++lane.skew;
    for (std::uint32_t k = 1; k < place.fellows(level); ++k) {
      const std::uint32_t fellow = place.fellow(level, place.others(level, k));
      lane.wait(fellow, signal);
      for (const std::uint32_t position : Place(header, fellow).column(level + 1)) {
        Operands to{output(place.at(position))};
        if (level != 0) to.push_back(scratch(slot(position)));
        lane.copy(scratch_of(fellow, slot(position)), std::move(to));
      }
    }
    if (level != 0) lane.signal();
  }
  return lane.take_program();
}

/// In each group of any level the rank that is in the root's place leads: it reads the leader of the next larger group, and the leaders of the smaller ones
/// inside read it. A lane's one signal says to those behind that a piece is there, and to those before that it was read.
Program broadcast(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  const Place root(header, header.root);
  std::uint32_t leads = 0;  // groups of unit(leads)
  while (leads < place.levels() && place.counterpart(leads + 1, root) == rank) ++leads;
  LaneBuilder lane;
  for (std::uint32_t level = 0; level < leads; ++level)
    for (std::uint32_t k = 1; k < place.fellows(level); ++k) lane.wait(place.fellow(level, place.others(level, k)), 0, header.depth);
  Operands to{output(0)};
  if (leads != 0) to.push_back(scratch(0));
  if (rank == header.root) {
    lane.copy(input(0), std::move(to));
  } else {
    const std::uint32_t from = place.counterpart(leads + 1, root);
    lane.wait(from, 0);
    lane.copy(scratch_of(from, 0), std::move(to));
  }
  lane.signal();
  return lane.take_program();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  switch (header.collective) {
    case Collective::reduce_scatter: return reduce_scatter(header, rank);
    case Collective::all_gather: return all_gather(header, rank);
    case Collective::broadcast: return broadcast(header, rank);
    default: return reduce_and_gather(header, rank);
  }
}

/// Contiguous groups of a power of two compose the one tree (0009-strict.md). Contributions are in the smallest groups alone.
bool serves(const Level& level, const Request& request) {
  if (!is_reduction(request.collective)) return true;
  if (request.op == ReduceOp::premul_sum && level.ranks > most_scaled) return false;
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
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::reduce_scatter:
    case Collective::all_gather: break;
    default: return other_collective;
  }
  if (cost.levels.empty()) return "no cache, memory or socket parts the ranks into equal groups";
  Request loose = request;
  loose.strict = false;
  return serving_levels(cost, loose) != 0 ? std::string_view() : "premul_sum scales one of 64 sources at most";
}

std::string_view departure(const Request& request, const CostModel& cost) {
  if (stores_rounded(request)) return "it stores what is combined in part, which rounds this type";
  return serving_levels(cost, request) != 0 ? std::string_view() : "its groups aren't runs of a power of two of ranks, as the one tree's are";
}

std::uint32_t smallest_group(const CostModel& cost, std::uint32_t levels) { return cost.levels[static_cast<std::size_t>(std::countr_zero(levels))].ranks; }

Shape shape_of(const Request& request, const CostModel& cost, std::uint32_t levels) {
  const std::uint32_t p = request.ranks;
  const std::uint32_t smallest_groups = p / smallest_group(cost, levels);
  const auto ways = static_cast<std::uint32_t>(std::popcount(levels)) + 1;
  Shape shape;
  switch (request.collective) {
    case Collective::reduce_scatter: shape = {Protocol::staged, false, 1, p, p, ways + 2, piece_bytes}; break;
    case Collective::all_gather: shape = {Protocol::staged, false, 1, smallest_groups, smallest_groups, ways + 3, piece_bytes}; break;
    case Collective::broadcast: shape = {Protocol::staged, false, 1, 1, 1, 4, piece_bytes}; break;
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

/// At a level a rank reads from each fellow what its column has to do with further out: a chunk for each group of the outer size.
Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  if (request.collective == Collective::broadcast) return predict_broadcast(terms, shape);
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

// k-nomial trees: broadcast, reduction, gather and scatter in ⌈log_k p⌉ hops, for each of which a rank serves up to k − 1 others. With k = 2 they are the
// binomial trees of MPICH (Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005); for larger k see
// Wilkins et al.: "Generalized Collective Algorithms for the Exascale Era", IEEE CLUSTER 2023.
//
// Places are counted from the root on, and written to the base k: a place's parent has its last digit that isn't 0 made 0. So the places below one follow it.
#include "planner/rooted_tree.hpp"
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

/// k: with 4 there are half of a binomial tree's hops, for three children in each, where that has two in two.
constexpr std::uint32_t radix = 4;

/// The weight of the first digit of so many places: the largest power of k below their number, or 1.
std::uint32_t top(std::uint32_t ranks) {
  std::uint32_t width = 1;
  while (std::uint64_t{width} * radix < ranks) width *= radix;
  return width;
}

RootedPlace place_of(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t ranks = header.ranks;
  const std::uint32_t place = (rank + ranks - header.root) % ranks;
  const auto rank_at = [&](std::uint32_t other) { return (other + header.root) % ranks; };
  RootedPlace found{place == 0, rank, {}};
  std::uint32_t width = top(ranks);  // of what is below each of the next children
  if (place != 0) {
    std::uint32_t last = 1;  // the weight of the last digit that isn't 0
    while (place / last % radix == 0) last *= radix;
    found.parent = rank_at(place - place / last % radix * last);
    width = last / radix;
  }
  for (; width > 0; width /= radix)
    for (std::uint32_t digit = 1; digit < radix && place + digit * width < ranks; ++digit) found.children.push_back(rank_at(place + digit * width));
  return found;
}

/// Places that follow one another, and lie below one of them: a run of blocks, counted from the root's on.
struct Run {
  std::uint32_t first, count;
};

std::uint32_t place_in(const PlanHeader& header, std::uint32_t rank) { return (rank + header.ranks - header.root) % header.ranks; }

Run below(const PlanHeader& header, std::uint32_t rank) {
  const std::uint32_t place = place_in(header, rank);
  if (place == 0) return {0, header.ranks};
  std::uint32_t width = 1;
  while (place / width % radix == 0) width *= radix;
  return {place, std::min(width, header.ranks - place)};
}

/// Calls `part(channel, first block, blocks, places before it)` for the parts of a run as they lie in the root's buffer: two where it goes round the end.
template <class Part>
void for_parts(const PlanHeader& header, const Run& run, Part part) {
  const std::uint32_t first = (run.first + header.root) % header.ranks;
  const std::uint32_t before_end = std::min(run.count, header.ranks - first);
  part(0, first, before_end, 0);
  if (before_end < run.count) part(1, 0, run.count - before_end, before_end);
}

/// Blocks are collected below a rank, and go on together; those that the root gets lie where they belong.
void gather_below(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  const RootedPlace place = place_of(header, rank);
  const Run own = below(header, rank);
  const bool leaf = place.children.empty();
  if (place.is_root || !leaf) lane.copy(input(0), {place.is_root ? output(rank) : scratch(0)});
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
    const Run run = below(header, *child);
    if (!place.is_root) {
      lane.copy(link(*child, 0, run.count), {scratch(run.first - own.first, run.count)});
      continue;
    }
    for_parts(header, run, [&](std::uint32_t channel, std::uint32_t first, std::uint32_t count, std::uint32_t) {
      lane.copy(link(*child, channel, count), {output(first, count)});
    });
  }
  if (place.is_root) return;
  if (place.parent != header.root) return lane.copy(leaf ? input(0) : scratch(0, own.count), {link(place.parent, 0, own.count)});
  for_parts(header, own, [&](std::uint32_t channel, std::uint32_t, std::uint32_t count, std::uint32_t before) {
    lane.copy(leaf ? input(0) : scratch(before, count), {link(place.parent, channel, count)});
  });
}

/// The other way round.
void scatter_below(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  const RootedPlace place = place_of(header, rank);
  const Run own = below(header, rank);
  const bool leaf = place.children.empty();
  if (!place.is_root && place.parent != header.root) lane.copy(link(place.parent, 0, own.count), {leaf ? output(0) : scratch(0, own.count)});
  if (!place.is_root && place.parent == header.root)
    for_parts(header, own, [&](std::uint32_t channel, std::uint32_t, std::uint32_t count, std::uint32_t before) {
      lane.copy(link(place.parent, channel, count), {leaf ? output(0) : scratch(before, count)});
    });
  for (const std::uint32_t child : place.children) {
    const Run run = below(header, child);
    if (!place.is_root) {
      lane.copy(scratch(run.first - own.first, run.count), {link(child, 0, run.count)});
      continue;
    }
    for_parts(header, run, [&](std::uint32_t channel, std::uint32_t first, std::uint32_t count, std::uint32_t) {
      lane.copy(input(first, count), {link(child, channel, count)});
    });
  }
  if (place.is_root || !leaf) lane.copy(place.is_root ? input(rank) : scratch(0), {output(0)});
}

bool moves_blocks(Collective collective) { return collective == Collective::gather || collective == Collective::scatter; }

Program program(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  if (header.collective == Collective::gather)
    gather_below(header, rank, lane);
  else if (header.collective == Collective::scatter)
    scatter_below(header, rank, lane);
  else if (header.collective == Collective::broadcast)
    broadcast_along(place_of(header, rank), lane);
  else
    reduce_along(place_of(header, rank), lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  const bool served = request.collective == Collective::broadcast || request.collective == Collective::reduce || moves_blocks(request.collective);
  return served ? std::string_view() : other_collective;
}

TreeSize tree_size(std::uint32_t ranks) {
  TreeSize size{0, 0};
  for (std::uint32_t width = top(ranks); width > 0; width /= radix) {
    size.hops += 1;
    size.children += std::min(radix - 1, (ranks - 1) / width);
  }
  return size;
}

/// Blocks of a child of the root and of all below it, where there are most: of the one with the heaviest digit, or the next.
std::uint32_t most_below(std::uint32_t ranks) { return std::max(std::min(top(ranks), ranks - top(ranks)), top(ranks) / radix); }

Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  if (!moves_blocks(request.collective)) return shape_of_tree(request, cost, limits, tree_size(request.ranks));
  const std::uint32_t largest = most_below(request.ranks);
  const std::uint32_t kept = largest > 1 ? largest : 0;  // leaves keep nothing
  const std::uint32_t sent = request.collective == Collective::gather ? largest : request.ranks - 1;
  return {Protocol::staged, true, 1, kept, kept + sent, 2, longest_piece(limits)};
}

/// The root has to do with every block, and on the way down or up blocks are copied once more at each hop; the busiest of those ways is the largest child's.
/// Who sends and who receives work at the same time, a piece apart.
Cost cost_of_blocks(const Terms& terms, bool gathers, const TreeSize& size, std::uint32_t largest) {
  const double far = (terms.ranks - 1) * terms.block;
  const double root = (gathers ? terms.pull(far) : terms.publish(far)) + terms.keep(terms.block);
  const double others = gathers ? terms.publish(far) : terms.pull(far);
  const double way = (size.hops - 1) * (terms.pull(largest * terms.block / radix) + terms.publish(largest * terms.block / radix));
  const double fill = gathers ? terms.publish(terms.piece) : terms.pull(terms.piece);
  const double moving = terms.lopsided(std::max(root, others / (terms.ranks - 1)) + fill, root + others);
  return {terms.piped_ns(size.hops), terms.work_ns(moving + way, 4 * size.children * terms.pieces), size.hops, 2 * far};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  if (moves_blocks(request.collective))
    return cost_of_blocks(terms, request.collective == Collective::gather, tree_size(request.ranks), most_below(request.ranks));
  return cost_of_tree(terms, request.collective == Collective::reduce, tree_size(request.ranks));
}

std::string_view departure(const Request&, const CostModel&) {
  return "its tree has more children to a rank than the one tree does";
}

}  // namespace

const Algorithm knomial_algorithm{.name = "knomial",
                                  .needs_mapped = false,
                                  .objection = objection,
                                  .shape = shape,
                                  .predict = predict,
                                  .program = program,
                                  .departure = departure,
                                  .chosen = Chosen::by_name};

}  // namespace rondo::planner

// k-nomial trees: broadcast and reduction in ⌈log_k p⌉ hops, for each of which a rank serves up to k − 1 others. With k = 2 they are the binomial trees of
// MPICH (Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005); for larger k see
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

Program program(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  if (header.collective == Collective::broadcast)
    broadcast_along(place_of(header, rank), lane);
  else
    reduce_along(place_of(header, rank), lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  const bool served = request.collective == Collective::broadcast || request.collective == Collective::reduce;
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

Shape shape(const Request& request, const CostModel& cost, const PlanLimits&) { return shape_of_tree(request, cost, tree_size(request.ranks)); }

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  return cost_of_tree(Terms(request, cost, limits, shape), request.collective == Collective::reduce, tree_size(request.ranks));
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
                                  .by_name = true};

}  // namespace rondo::planner

// PAT, parallel aggregated trees (Jeaugey: "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252): ⌈log2 p⌉
// rounds for any number of ranks, of which the far ones move least.
//
// Each block goes down a binomial tree whose root is its owner, with the longest hop first. All trees are one shifted from rank to rank. In the paper's terms
// everything is aggregated: how much of it is under way at once is what pieces decide here.
#include "planner/paths.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

/// A rank's blocks are numbered by how far ahead their owner is: block s comes from the rank as far ahead as the lowest bit of s says.
class PatPaths {
 public:
  PatPaths(std::uint32_t ranks, std::uint32_t rank) : ranks_(ranks), rank_(rank) {}

  std::vector<std::uint32_t> arrivals() const {
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t hop = power_of_two_below(ranks_ - 1); hop > 0; hop /= 2)
      for (std::uint32_t ahead = hop; ahead < ranks_; ahead += 2 * hop) blocks.push_back((rank_ + ahead) % ranks_);
    return blocks;
  }

  std::uint32_t from(std::uint32_t block) const { return (rank_ + last_hop(ahead_of(block))) % ranks_; }

  Takers to(std::uint32_t block) const {
    const std::uint32_t ahead = ahead_of(block);
    Takers ranks;
    for (std::uint32_t hop = ahead == 0 ? power_of_two_below(ranks_ - 1) : last_hop(ahead) / 2; hop > 0; hop /= 2)
      if (ahead + hop < ranks_) ranks.push_back((rank_ + ranks_ - hop) % ranks_);
    return ranks;
  }

 private:
  std::uint32_t ahead_of(std::uint32_t block) const { return (block + ranks_ - rank_) % ranks_; }
  static std::uint32_t last_hop(std::uint32_t ahead) { return ahead & (~ahead + 1); }  // its lowest bit

  std::uint32_t ranks_;
  std::uint32_t rank_;
};

Program program(const PlanHeader& header, std::uint32_t rank) {
  const PatPaths paths(header.ranks, rank);
  LaneBuilder lane;
  lane.reserve(header.ranks);
  if (header.collective == Collective::all_gather) {
    lane.copy(input(0), with(output(rank), takers(paths, rank)));
    gather_along(paths, lane);
  } else {
    scatter_back(paths, lane);
    combine(paths, rank, {output(0)}, true, lane);
  }
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  const bool served = request.collective == Collective::all_gather || request.collective == Collective::reduce_scatter;
  return served ? std::string_view() : other_collective;
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  return {Protocol::staged, true, 1, 0, request.ranks - 1, 2, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  return along_paths(terms, request.collective, log2_ceil(request.ranks));
}

std::string_view departure(const Request&, const CostModel&) {
  return "its trees begin at each block's owner, and group ranks otherwise than the one tree does";
}

}  // namespace

const Algorithm pat_algorithm{.name = "pat",
                              .needs_mapped = false,
                              .objection = objection,
                              .shape = shape,
                              .predict = predict,
                              .program = program,
                              .departure = departure,
                              .chosen = Chosen::by_name};

}  // namespace rondo::planner

// Bine trees, binomial negabinary trees (De Sensi et al.: "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC 2025,
// arXiv 2508.17311): trees of ⌈log2 p⌉ hops to both sides in turn, the longest first, which cross a network less than those whose hops go one way.
// They serve any even number of ranks.
//
// In round t every rank meets the partner of swing's round ⌈log2 p⌉ − 1 − t, and gets what it lacks of what that one has. Even ranks number blocks by
// how far ahead their owner is, odd ones by how far behind: so all get the same numbers at the same time, h − b for each b that the partner has and a
// hop of h. Where p is no power of two a number may be reached in several rounds, and the first is taken.
#include "planner/negabinary.hpp"
#include "planner/paths.hpp"
#include "planner/rooted_tree.hpp"

namespace rondo::planner {
namespace {

class BinePaths {
 public:
  BinePaths(std::uint32_t ranks, std::uint32_t rank) : ranks_(ranks), rank_(rank), round_of_(ranks, never) {
    numbers_.reserve(ranks);
    numbers_.push_back(0);
    for (std::uint32_t round = 0; round < rounds(); ++round) {
      const std::uint32_t hop = swing_hop(ranks, rounds() - 1 - round);
      partners_.push_back(swing_partner(ranks, rank, rounds() - 1 - round));
      for (std::size_t k = 0, known = numbers_.size(); k < known; ++k) {
        const std::uint32_t number = (hop + ranks - numbers_[k]) % ranks;
        if (number == 0 || round_of_[number] != never) continue;
        round_of_[number] = round;
        numbers_.push_back(number);
      }
    }
  }

  std::vector<std::uint32_t> arrivals() const {
    std::vector<std::uint32_t> blocks;
    for (std::size_t k = 1; k < numbers_.size(); ++k)
      blocks.push_back((rank_ + (rank_ % 2 == 0 ? numbers_[k] : ranks_ - numbers_[k])) % ranks_);
    return blocks;
  }

  std::uint32_t from(std::uint32_t block) const { return partners_[round_of_[number(rank_, block)]]; }

  Takers to(std::uint32_t block) const {
    Takers ranks;
    for (std::uint32_t round = block == rank_ ? 0 : round_of_[number(rank_, block)] + 1; round < partners_.size(); ++round)
      if (round_of_[number(partners_[round], block)] == round) ranks.push_back(partners_[round]);
    return ranks;
  }

 private:
  static constexpr std::uint32_t never = 0xffffffff;

  std::uint32_t rounds() const { return log2_ceil(ranks_); }
  std::uint32_t number(std::uint32_t rank, std::uint32_t block) const {
    const std::uint32_t number = rank % 2 == 0 ? block + ranks_ - rank : rank + ranks_ - block;
    return number >= ranks_ ? number - ranks_ : number;
  }

  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::vector<std::uint32_t> partners_;  // by round
  std::vector<std::uint32_t> round_of_;  // a block's number → the round in which it arrives
  std::vector<std::uint32_t> numbers_;   // in the order in which they arrive, the own one first
};

/// The way of the root's block.
RootedPlace place_of(const PlanHeader& header, std::uint32_t rank) {
  const BinePaths paths(header.ranks, rank);
  const bool is_root = rank == header.root;
  const Takers children = paths.to(header.root);
  return {is_root, is_root ? rank : paths.from(header.root), {children.begin(), children.end()}};
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  switch (header.collective) {
    case Collective::broadcast:
      broadcast_along(place_of(header, rank), lane);
      return lane.take_program();
    case Collective::reduce:
      reduce_along(place_of(header, rank), lane);
      return lane.take_program();
    default:
      break;
  }
  const BinePaths paths(header.ranks, rank);
  const bool gathers = header.collective != Collective::reduce_scatter;
  lane.reserve(2 * header.ranks);
  if (header.collective == Collective::all_gather) {
    lane.copy(input(0), with(output(rank), takers(paths, rank)));
  } else {
    scatter_back(paths, lane);
    combine(paths, rank, gathers ? with(output(rank), takers(paths, rank)) : Operands{output(0)}, true, lane);
  }
  if (gathers) gather_along(paths, lane);
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::reduce:
      return request.ranks % 2 == 0 ? std::string_view() : "even ranks meet odd ones, so there must be as many of either";
    default:
      return other_collective;
  }
}

/// The root serves a rank in each round, but in the last one where that has got the block by then: so it is for the smallest third of the numbers of ranks
/// that take as many rounds.
TreeSize tree_size(const Request& request) {
  const std::uint32_t rounds = log2_ceil(request.ranks);
  const bool served_before = 3 * std::uint64_t{request.ranks} <= std::uint64_t{2} << rounds;
  return {static_cast<double>(rounds), served_before ? rounds - 1 : rounds};
}

Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  if (is_rooted(request.collective)) return shape_of_tree(request, cost, limits, tree_size(request));
  const bool all = request.collective == Collective::all_reduce;
  return {Protocol::staged, true, all ? request.ranks : 1, 0, (all ? 2 : 1) * (request.ranks - 1), 2, longest_piece(limits)};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  if (is_rooted(request.collective)) return cost_of_tree(terms, request.collective == Collective::reduce, tree_size(request));
  return along_paths(terms, request.collective, log2_ceil(request.ranks));
}

std::string_view departure(const Request&, const CostModel&) {
  return "its hops to both sides group ranks otherwise than the one tree does";
}

}  // namespace

const Algorithm bine_algorithm{.name = "bine",
                               .needs_mapped = false,
                               .objection = objection,
                               .shape = shape,
                               .predict = predict,
                               .program = program,
                               .departure = departure,
                               .chosen = Chosen::by_name};

}  // namespace rondo::planner

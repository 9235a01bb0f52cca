#include <array>

#include "planner/algorithm.hpp"

namespace rondo::planner {

std::span<const Algorithm* const> algorithms() {
  // Where predictions don't decide, the first is taken: what moves a byte once, then what has fewer steps.
  static constexpr std::array table{
      &copy_algorithm,     &inline_algorithm,   &direct_push_algorithm, &direct_one_shot_algorithm, &direct_push_pull_algorithm, &direct_two_shot_algorithm,
      &one_shot_algorithm, &one_shot_streamed_algorithm, &two_shot_algorithm, &ring_algorithm, &tree_algorithm, &recursive_doubling_algorithm,
      &halving_doubling_algorithm,
      &dissemination_algorithm, &pairwise_algorithm, &hierarchical_algorithm,
      &rings_algorithm, &bruck_algorithm, &pat_algorithm, &swing_algorithm, &bine_algorithm, &knomial_algorithm,
      &chain_algorithm, &parameter_server_algorithm, &rail_algorithm, &rail_tree_algorithm, &rail_halving_algorithm, &rail_bine_algorithm};
  return table;
}

}  // namespace rondo::planner

#include <array>

#include "planner/algorithm.hpp"

namespace rondo::planner {

std::span<const Algorithm* const> algorithms() {
  static constexpr std::array table{
      &copy_algorithm,          &inline_algorithm,   &one_shot_algorithm,           &two_shot_algorithm,
      &ring_algorithm,          &tree_algorithm,     &recursive_doubling_algorithm, &halving_doubling_algorithm,
      &dissemination_algorithm, &pairwise_algorithm, &hierarchical_algorithm,       &direct_one_shot_algorithm,
      &direct_two_shot_algorithm};
  return table;
}

}  // namespace rondo::planner

#include "planner/double_tree.hpp"

#include <bit>

namespace rondo::planner {
namespace {

/// The first tree. A node's height is its lowest set bit; node 0 stands above the others, which lie in search-tree
/// order.
TreePlace first_tree(std::uint32_t ranks, std::uint32_t node) {
  TreePlace place;
  if (node == 0) {
    if (ranks > 1) place.children[place.child_count++] = std::bit_floor(ranks - 1);
    return place;
  }
  const std::uint32_t height = node & -node;
  place.has_parent = true;
  place.parent = (node ^ height) | (height << 1);
  if (place.parent >= ranks) place.parent = node ^ height;
  if (height == 1) return place;
  place.children[place.child_count++] = node - height / 2;
  std::uint32_t offset = height / 2;
  while (offset != 0 && node + offset >= ranks) offset /= 2;
  if (offset != 0) place.children[place.child_count++] = node + offset;
  return place;
}

/// The second tree is the first one with other names: mirrored when the number of ranks is even, else moved on by one.
std::uint32_t to_first(std::uint32_t ranks, std::uint32_t rank) {
  return ranks % 2 == 0 ? ranks - 1 - rank : (rank + ranks - 1) % ranks;
}
std::uint32_t from_first(std::uint32_t ranks, std::uint32_t node) {
  return ranks % 2 == 0 ? ranks - 1 - node : (node + 1) % ranks;
}

template <class Rename>
TreePlace renamed(TreePlace place, Rename rename) {
  place.parent = place.has_parent ? rename(place.parent) : 0;
  for (std::uint32_t k = 0; k < place.child_count; ++k) place.children[k] = rename(place.children[k]);
  return place;
}

}  // namespace

TreePlace tree_place(std::uint32_t ranks, std::uint32_t tree, std::uint32_t rank) {
  if (tree == 0) return first_tree(ranks, rank);
  return renamed(first_tree(ranks, to_first(ranks, rank)),
                 [ranks](std::uint32_t node) { return from_first(ranks, node); });
}

TreePlace rooted_tree_place(std::uint32_t ranks, std::uint32_t tree, std::uint32_t root, std::uint32_t rank) {
  const std::uint32_t others = ranks - 1;
  const auto rank_of = [=](std::uint32_t other) { return (root + 1 + other) % ranks; };
  if (rank == root) {
    TreePlace place;
    place.children[place.child_count++] = rank_of(tree == 0 ? 0 : from_first(others, 0));
    return place;
  }
  const std::uint32_t other = (rank + ranks - root - 1) % ranks;
  TreePlace place = renamed(tree_place(others, tree, other), rank_of);
  if (!place.has_parent) place.parent = root;
  place.has_parent = true;
  return place;
}

}  // namespace rondo::planner

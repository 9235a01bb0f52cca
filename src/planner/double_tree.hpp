// Two spanning trees of p ranks in which almost everybody is a leaf of one and inside the other.
#pragma once

#include <array>
#include <cstdint>

namespace rondo::planner {

/// One rank's neighbours in one tree.
struct TreePlace {
  bool has_parent = false;
  std::uint32_t parent = 0;
  std::uint32_t child_count = 0;
  std::array<std::uint32_t, 2> children{};
};

/// Rank `rank`'s place in tree 0 or 1 of `ranks` ranks (≥ 1). Tree 0 has root 0. Each rank has at most two children,
/// and at most one rank has children in both. Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth
/// broadcast, reduction and scan", 2009.
TreePlace tree_place(std::uint32_t ranks, std::uint32_t tree, std::uint32_t rank);

/// The same for a rooted collective: both trees span the other ranks, and both their roots are children of `root`.
TreePlace rooted_tree_place(std::uint32_t ranks, std::uint32_t tree, std::uint32_t root, std::uint32_t rank);

}  // namespace rondo::planner

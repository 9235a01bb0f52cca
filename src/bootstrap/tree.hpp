// The tree by which a bootstrap's rounds go, so that no rank sends more than a few others what all gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// Where a rank stands. Each rank speaks for the ranks of a range that begins with it; the rest of the range is parted among its children. So ranks that
/// are neighbours by number, which launchers put on one machine, are near one another in the tree, and what a rank gathers is in order.
struct TreePlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;    ///< of the job
  std::uint32_t parent = 0;  ///< rank 0's is itself
  std::uint32_t depth = 0;
  std::uint32_t end = 1;     ///< it speaks for the ranks from `rank` up to this one
  std::vector<std::uint32_t> children;  ///< ascending

  /// Its place among the children.
  std::optional<std::size_t> child(std::uint32_t other) const;
  /// Where the range of a child ends.
  std::uint32_t end_of(std::uint32_t child) const;
};

/// The place of `rank` where nobody has more than `fan_out` (at least 1) children. With as many as there are others, all are rank 0's.
TreePlace place_in_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t fan_out);

}  // namespace rondo

// The one tree along which strict plans combine (docs/design/0009-strict.md).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::verifier {

/// Ranks first, first + 1, ..., end - 1.
struct RankRun {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// How many of `count` leaves are on the left.
inline std::uint32_t left_of(std::uint32_t count) { return std::bit_floor(count - 1); }

/// Whether a step that combines `sources` from number `begin` to `end` along the tree of their numbers does what the tree of their
/// ranks says; each source has done so for its own ranks.
inline bool follows_tree(const std::vector<RankRun>& sources, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return true;
  const std::size_t middle = begin + left_of(static_cast<std::uint32_t>(end - begin));
  const std::uint32_t first = sources[begin].first;
  const std::uint32_t ranks = sources[end - 1].end - first;
  return sources[middle].first == first + left_of(ranks) && follows_tree(sources, begin, middle) && follows_tree(sources, middle, end);
}

}  // namespace rondo::verifier

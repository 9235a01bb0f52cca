#include "bootstrap/tree.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace rondo {
namespace {

/// The parts of [begin, end), of sizes as equal as they can be, by where each begins.
std::vector<std::uint32_t> parts_of(std::uint32_t begin, std::uint32_t end, std::uint32_t most) {
  const std::uint32_t ranks = end - begin, parts = std::min(ranks, most);
  std::vector<std::uint32_t> begins;
  for (std::uint64_t part = 0; part < parts; ++part) begins.push_back(begin + static_cast<std::uint32_t>(ranks * part / parts));
  return begins;
}

}  // namespace

std::optional<std::size_t> TreePlace::child(std::uint32_t other) const {
  const auto found = std::lower_bound(children.begin(), children.end(), other);
  if (found == children.end() || *found != other) return std::nullopt;
  return static_cast<std::size_t>(found - children.begin());
}

std::uint32_t TreePlace::end_of(std::uint32_t child) const {
  const auto next = std::upper_bound(children.begin(), children.end(), child);
  return next == children.end() ? end : *next;
}

TreePlace place_in_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t fan_out) {
  assert(rank < size && fan_out != 0);
  TreePlace place{rank, size, 0, 0, size, {}};
  std::uint32_t at = 0;
  for (;;) {
    place.children = parts_of(at + 1, place.end, fan_out);
    if (at == rank) return place;
    const std::uint32_t next = *std::prev(std::upper_bound(place.children.begin(), place.children.end(), rank));
    place.end = place.end_of(next);
    place.parent = at;
    ++place.depth;
    at = next;
  }
}

}  // namespace rondo

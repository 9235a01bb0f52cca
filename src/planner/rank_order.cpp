#include <algorithm>
#include <numeric>
#include <tuple>

#include "planner/algorithm.hpp"

namespace rondo::planner {

std::vector<std::uint32_t> rank_order(const Topology& topology, std::uint32_t ranks) {
  if (topology.ranks.size() != ranks) return {};
  // Nodes are numbered parent by parent, so ranks whose numbers are close share caches and memories.
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const RankPlace& x = topology.ranks[a];
    const RankPlace& y = topology.ranks[b];
    return std::tie(x.host, x.node) < std::tie(y.host, y.node);
  };
  std::vector<std::uint32_t> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  if (std::is_sorted(order.begin(), order.end(), before)) return {};
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace rondo::planner

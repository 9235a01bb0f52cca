// The levels of a machine as its ranks see them: which caches, memories, sockets or hosts part them into equal groups, and what lies inside and between.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "planner/algorithm.hpp"
#include "topology/device_paths.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t sampled_ranks = 256;
constexpr std::int32_t nowhere = -1;

/// One sort of node, such as "L3": the node of that sort above each rank, in the order of the ranks' places.
struct Sort {
  NodeKind kind;
  std::string name;
  std::vector<std::int32_t> above;
};

std::string sort_of(const Node& node) { return node.kind == NodeKind::machine ? "host" : node.name.substr(0, node.name.find('#')); }

/// Smaller parts of the machine come first wherever a rank is below both. Ranks that share one processor take turns on it: they are no group.
std::vector<Sort> sorts_above(const Topology& topology, const std::vector<std::uint32_t>& order) {
  std::vector<Sort> sorts;
  for (std::uint32_t position = 0; position < order.size(); ++position)
    for (std::int32_t node = topology.ranks[order[position]].node; node >= 0; node = topology.nodes[node].parent) {
      const Node& met = topology.nodes[node];
      const bool holds_ranks = met.cpus.empty() ? node != topology.ranks[order[position]].node : met.cpus.size() > 1;
      if (!holds_ranks) continue;
      const std::string name = sort_of(met);
      auto sort = std::find_if(sorts.begin(), sorts.end(), [&](const Sort& known) { return known.kind == met.kind && known.name == name; });
      if (sort == sorts.end()) sort = sorts.insert(sort, {met.kind, name, std::vector<std::int32_t>(order.size(), nowhere)});
      if (sort->above[position] == nowhere) sort->above[position] = node;
    }
  return sorts;
}

/// The nodes of a sort when each has the same number of ranks below it, and these follow one another.
struct Groups {
  std::uint32_t size = 0;  ///< 0: they don't
  std::vector<std::int32_t> nodes;  ///< ascending
};

Groups equal_groups(const std::vector<std::int32_t>& above) {
  Groups groups;
  const auto size = std::find_if(above.begin(), above.end(), [&](std::int32_t node) { return node != above[0]; }) - above.begin();
  if (static_cast<std::ptrdiff_t>(above.size()) % size != 0) return {};
  for (auto group = above.begin(); group != above.end(); group += size) {
    if (*group == nowhere || std::any_of(group, group + size, [&](std::int32_t node) { return node != *group; })) return {};
    groups.nodes.push_back(*group);
  }
  std::sort(groups.nodes.begin(), groups.nodes.end());
  if (std::adjacent_find(groups.nodes.begin(), groups.nodes.end()) != groups.nodes.end()) return {};
  groups.size = static_cast<std::uint32_t>(size);
  return groups;
}

/// The figures of the farthest of the pairs that stand for all: each group's first rank with its others.
PathCost farthest_inside(const Topology& topology, const std::vector<std::uint32_t>& order, std::uint32_t size) {
  PathCost farthest{0, INFINITY, Provenance::probed};
  const RankPaths paths(topology);
  const std::size_t stride = std::max<std::size_t>(1, order.size() / sampled_ranks);
  for (std::size_t position = 0; position < order.size(); position += stride) {
    const std::size_t first = position / size * size;
    const PathCost path = paths.between(order[first], order[position == first ? first + size - 1 : position]);
    farthest.latency_ns = std::max(farthest.latency_ns, path.latency_ns);
    if (path.bandwidth_bytes_per_s > 0) farthest.bandwidth_bytes_per_s = std::min(farthest.bandwidth_bytes_per_s, path.bandwidth_bytes_per_s);
    farthest.provenance = std::max(farthest.provenance, path.provenance);
  }
  return farthest;
}

/// The narrowest link from one of the nodes to what contains it; infinity when none is known.
double way_out(const Topology& topology, const std::vector<std::int32_t>& nodes) {
  double bandwidth = INFINITY;
  for (const Link& link : topology.links)
    if (topology.nodes[link.from].parent == static_cast<std::int32_t>(link.to) && link.bandwidth_bytes_per_s.value > 0 &&
        std::binary_search(nodes.begin(), nodes.end(), static_cast<std::int32_t>(link.from)))
      bandwidth = std::min(bandwidth, link.bandwidth_bytes_per_s.value);
  return bandwidth;
}

std::string source_of(const Level& level, Provenance weakest) {
  char text[192];
  std::snprintf(text, sizeof text, "level of %u ranks: latency_ns %.4g, pull_ns_per_byte %.4g, crossing_ns_per_byte %.4g: ", level.ranks, level.latency_ns,
                level.pull_ns_per_byte, level.crossing_ns_per_byte);
  return text + std::string(to_string(weakest)) + ", the farthest pair below one " + level.name + ", and its link outwards";
}

}  // namespace

void find_levels(const Topology& topology, std::uint32_t ranks, CostModel& cost) {
  if (topology.ranks.size() != ranks || ranks < 4) return;  // two groups of two
  std::vector<std::uint32_t> order = rank_order(topology, ranks);
  const bool by_number = order.empty();
  if (by_number) {
    order.resize(ranks);
    std::iota(order.begin(), order.end(), 0);
  }
  for (const Sort& sort : sorts_above(topology, order)) {
    const Groups groups = equal_groups(sort.above);
    if (groups.size < 2 || groups.size == ranks) continue;
    const double crossing = 1e9 / way_out(topology, groups.nodes);
    const auto same = std::find_if(cost.levels.begin(), cost.levels.end(), [&](const Level& level) { return level.ranks == groups.size; });
    if (same != cost.levels.end()) {  // a socket of one memory: the wider part's link is on the way too
      same->crossing_ns_per_byte = std::max(same->crossing_ns_per_byte, crossing);
      continue;
    }
    const PathCost inside = farthest_inside(topology, order, groups.size);
    Level level{sort.name, groups.size, by_number, inside.latency_ns, pull_at(cost.core, inside.latency_ns), crossing};
    if (inside.provenance != Provenance::assumed && std::isfinite(inside.bandwidth_bytes_per_s))
      level.pull_ns_per_byte = std::max(level.pull_ns_per_byte, 1e9 / inside.bandwidth_bytes_per_s);
    cost.sources.push_back(source_of(level, inside.provenance));
    cost.levels.push_back(std::move(level));
  }
  std::sort(cost.levels.begin(), cost.levels.end(), [](const Level& a, const Level& b) { return a.ranks < b.ranks; });
}

}  // namespace rondo::planner

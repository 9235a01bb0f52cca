#include "topology/device_paths.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace rondo {
namespace {

constexpr double large_message = 1 << 20;  // bytes: what a way is chosen for

double time_over(const Link& link) { return link.latency_ns.value + large_message / link.bandwidth_bytes_per_s.value * 1e9; }

/// By node, the links at it.
std::vector<std::vector<std::uint32_t>> links_at_nodes(const Topology& topology) {
  std::vector<std::vector<std::uint32_t>> at(topology.nodes.size());
  for (std::uint32_t l = 0; l < topology.links.size(); ++l) {
    if (topology.links[l].bandwidth_bytes_per_s.value <= 0) continue;
    at[topology.links[l].from].push_back(l);
    at[topology.links[l].to].push_back(l);
  }
  return at;
}

}  // namespace

PathCost device_path(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  const auto links_at = links_at_nodes(topology);
  std::vector<double> times(topology.nodes.size(), std::numeric_limits<double>::infinity());
  std::vector<std::uint32_t> by(topology.nodes.size(), nowhere);  // the link that led to each node
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  times[from] = 0;
  next.emplace(0, from);
  const auto other_end = [&](std::uint32_t link, std::uint32_t node) {
    return topology.links[link].from == node ? topology.links[link].to : topology.links[link].from;
  };
  while (!next.empty()) {
    const auto [time, node] = next.top();
    next.pop();
    if (node == to) break;
    if (time > times[node] || (node != from && topology.nodes[node].kind == NodeKind::gpu)) continue;
    for (const std::uint32_t link : links_at[node]) {
      const std::uint32_t end = other_end(link, node);
      const double there = time + time_over(topology.links[link]);
      if (there >= times[end]) continue;
      times[end] = there;
      by[end] = link;
      next.emplace(there, end);
    }
  }
  PathCost cost{0, 0, Provenance::probed};
  for (std::uint32_t node = to; by[node] != nowhere; node = other_end(by[node], node)) {
    const Link& link = topology.links[by[node]];
    const double bandwidth = link.bandwidth_bytes_per_s.value;
    cost.latency_ns += link.latency_ns.value;
    cost.bandwidth_bytes_per_s = cost.bandwidth_bytes_per_s > 0 ? std::min(cost.bandwidth_bytes_per_s, bandwidth) : bandwidth;
    cost.provenance = std::max({cost.provenance, link.latency_ns.provenance, link.bandwidth_bytes_per_s.provenance});
  }
  return cost;
}

}  // namespace rondo

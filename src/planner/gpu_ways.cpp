#include "planner/gpu_ways.hpp"

#include <set>

#include "topology/device_paths.hpp"

namespace rondo::planner {

Pairs widths_between(const Topology& topology, const Ring& ranks) {
  Pairs widths(static_cast<std::uint32_t>(ranks.size()));
  const RankPaths paths(topology);
  for (std::uint32_t a = 0; a < widths.n; ++a)
    for (std::uint32_t b = 0; b < a; ++b) widths.set(a, b, paths.between(ranks[a], ranks[b]).bandwidth_bytes_per_s);
  return widths;
}

std::vector<Ring> gpus_by_host(const Topology& topology, std::uint32_t ranks) {
  constexpr std::uint32_t most_ranks = 256;
  if (topology.ranks.size() != ranks || ranks < 3 || ranks > most_ranks) return {};
  std::vector<Ring> hosts(topology.hosts.size());
  std::set<std::int32_t> nodes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const RankPlace& place = topology.ranks[rank];
    if (place.node < 0 || topology.nodes[place.node].kind != NodeKind::gpu || !nodes.insert(place.node).second) return {};
    hosts[place.host].push_back(rank);
    if (hosts[place.host].size() > most_searched_gpus) return {};
  }
  std::erase_if(hosts, [](const Ring& host) { return host.empty(); });
  return hosts;
}

}  // namespace rondo::planner

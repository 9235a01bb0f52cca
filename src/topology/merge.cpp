#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "rondo/topology.hpp"
#include "topology/places.hpp"
#include "topology/quota.hpp"

namespace rondo {
namespace {

bool is_network(const Node& node) {
  return node.kind == NodeKind::net_switch && node.parent < 0;
}

void unite(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

class Merger {
 public:
  void add(const Topology& view) {
    std::vector<std::uint32_t> hosts;
    for (const std::string& identity : view.hosts) hosts.push_back(host(identity));
    std::vector<std::uint32_t> places;  // each node of the view in the merged graph
    for (const Node& node : view.nodes) places.push_back(add_node(node, places, hosts));
    for (const Link& link : view.links) add_link(link, places[link.from], places[link.to]);
    for (RankPlace place : view.ranks) {
      place.host = hosts.at(place.host);
      merged_.ranks.push_back(std::move(place));
    }
    // Ranks of one machine may be in groups of different quotas; the graph has room for the tightest.
    if (!hosts.empty() && hosts[0] == 0) merged_.cpu_quota = tighter_quota(merged_.cpu_quota, view.cpu_quota);
  }

  Topology take() {
    for (RankPlace& place : merged_.ranks) place.node = deepest_node(merged_, place.host, place.cpus);
    return std::move(merged_);
  }

 private:
  std::uint32_t host(const std::string& identity) {
    const auto next = static_cast<std::uint32_t>(merged_.hosts.size());
    const auto [entry, added] = hosts_.try_emplace(identity, next);
    if (added) merged_.hosts.push_back(identity);
    return entry->second;
  }

  // Nodes of one host are the same when kind and name are; all hosts reach the same network.
  std::uint32_t add_node(Node node, const std::vector<std::uint32_t>& places, const std::vector<std::uint32_t>& hosts) {
    const bool network = is_network(node);
    node.host = hosts.at(node.host);
    const auto next = static_cast<std::uint32_t>(merged_.nodes.size());
    const auto [entry, added] = nodes_.try_emplace(
        {network ? UINT32_MAX : node.host, node.kind, node.kind == NodeKind::machine ? "" : node.name}, next);
    if (added) {
      if (node.parent >= 0) node.parent = static_cast<std::int32_t>(places.at(static_cast<std::size_t>(node.parent)));
      merged_.nodes.push_back(std::move(node));
    } else {
      unite(merged_.nodes[entry->second].cpus, node.cpus);
    }
    return entry->second;
  }

  // Of two views of one link the better founded figures stay.
  void add_link(Link link, std::uint32_t from, std::uint32_t to) {
    link.from = from;
    link.to = to;
    const auto [entry, added] = links_.try_emplace({from, to, link.type}, merged_.links.size());
    if (added) {
      merged_.links.push_back(std::move(link));
      return;
    }
    Link& known = merged_.links[entry->second];
    if (link.bandwidth_bytes_per_s.provenance < known.bandwidth_bytes_per_s.provenance)
      known.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
    if (link.latency_ns.provenance < known.latency_ns.provenance) known.latency_ns = link.latency_ns;
  }

  Topology merged_;
  std::map<std::string, std::uint32_t> hosts_;
  std::map<std::tuple<std::uint32_t, NodeKind, std::string>, std::uint32_t> nodes_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::size_t> links_;
};

}  // namespace

Topology merge(const std::vector<Topology>& views) {
  Merger merger;
  for (const Topology& view : views) merger.add(view);
  return merger.take();
}

}  // namespace rondo

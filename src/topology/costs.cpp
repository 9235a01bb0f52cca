#include "topology/costs.hpp"

#include <algorithm>

namespace rondo {
namespace {

// Latencies are those of a flag: written by one processor, seen by another, which is one transfer of a cache line. They
// are round figures from the middle of what core-to-core tests of x86 servers since 2017 have published; bandwidths are
// what one reader gets there. A communicator's own probe replaces them, so they need only be in the right order.
struct AssumedCost {
  double latency_ns;
  double bandwidth_bytes_per_s;
  const char* what;
};
constexpr AssumedCost same_core{20, 100e9, "default within one core"};
constexpr AssumedCost shared_l2{50, 60e9, "default for a shared L2"};
constexpr AssumedCost shared_l3{100, 30e9, "default for a shared L3"};
constexpr AssumedCost same_numa{150, 40e9, "default for one NUMA node's memory"};
constexpr AssumedCost other_numa{200, 40e9, "default between NUMA nodes of a package"};
constexpr AssumedCost other_package{300, 40e9, "default between packages"};

// Device links: PCIe 3.0 x4 is 3.94 GB/s, the least that server devices come with; a host bridge carries a x16 slot.
constexpr double least_pci_bandwidth = 3.94e9;
constexpr double host_bridge_bandwidth = 31.5e9;
constexpr double pci_latency_ns = 150;

bool is_device_kind(NodeKind kind) {
  return kind == NodeKind::pci_bridge || kind == NodeKind::gpu || kind == NodeKind::nic || kind == NodeKind::net_switch;
}

// What lies below each node: a machine's cost depends on whether it has several packages, or several memories.
struct Census {
  std::vector<std::uint32_t> packages;
  std::vector<std::uint32_t> memories;
};

Census count_below(const Topology& topology) {
  Census census{std::vector<std::uint32_t>(topology.nodes.size()), std::vector<std::uint32_t>(topology.nodes.size())};
  for (std::size_t n = topology.nodes.size(); n-- > 0;) {
    const Node& node = topology.nodes[n];
    if (node.parent < 0 || node.cpus.empty()) continue;
    census.packages[node.parent] += census.packages[n] + (node.kind == NodeKind::package ? 1 : 0);
    census.memories[node.parent] += census.memories[n] + (node.kind == NodeKind::numa ? 1 : 0);
  }
  return census;
}

const AssumedCost& assumed_cost(const Topology& topology, const Census& census, std::size_t index) {
  const Node& node = topology.nodes[index];
  switch (node.kind) {
    case NodeKind::cpu:
    case NodeKind::core:
      return same_core;
    case NodeKind::cache:
      if (node.name.starts_with("L1")) return same_core;
      return node.name.starts_with("L2") ? shared_l2 : shared_l3;
    case NodeKind::numa:
      return census.packages[index] > 1 ? other_package : same_numa;
    default:
      if (census.packages[index] > 1) return other_package;
      return census.memories[index] > 1 ? other_numa : same_numa;
  }
}

// The crossing latency of each node; never less than a node's below it, so that no link gets a negative one.
std::vector<double> crossing_latencies(const Topology& topology, const Census& census) {
  std::vector<double> latency(topology.nodes.size());
  for (std::size_t n = topology.nodes.size(); n-- > 0;) {
    const Node& node = topology.nodes[n];
    const double own = node.kind == NodeKind::cpu ? 0 : assumed_cost(topology, census, n).latency_ns;
    latency[n] = std::max(latency[n], own);
    if (node.parent >= 0 && !node.cpus.empty()) latency[node.parent] = std::max(latency[node.parent], latency[n]);
  }
  return latency;
}

std::string link_type(const Node& child, const Node& parent) {
  if (child.cpus.empty() && child.kind != NodeKind::numa) return "pci";
  switch (parent.kind) {
    case NodeKind::core:
    case NodeKind::cache:
      return "cache";
    case NodeKind::numa:
      return "memory";
    default:
      return child.kind == NodeKind::numa ? "memory" : "fabric";
  }
}

Link device_link(const Topology& topology, std::uint32_t index, const ReadFigures& read) {
  const Node& node = topology.nodes[index];
  const bool host_bridge = node.kind == NodeKind::pci_bridge && !is_device_kind(topology.nodes[node.parent].kind);
  Link link{
      index, static_cast<std::uint32_t>(node.parent), "pci", {}, assumed(pci_latency_ns, "default for a PCI hop")};
  if (read.bandwidth_bytes_per_s > 0)
    link.bandwidth_bytes_per_s = {read.bandwidth_bytes_per_s, Provenance::read, read.source};
  else
    link.bandwidth_bytes_per_s = host_bridge ? assumed(host_bridge_bandwidth, "default for a host bridge: PCIe 4.0 x16")
                                             : assumed(least_pci_bandwidth, "default for a PCI device: PCIe 3.0 x4");
  return link;
}

}  // namespace

Figure assumed(double value, std::string what) {
  return {value, Provenance::assumed, std::move(what)};
}

void add_containment_links(Topology& topology, const std::vector<ReadFigures>& read) {
  const Census census = count_below(topology);
  const std::vector<double> latency = crossing_latencies(topology, census);
  for (std::uint32_t n = 0; n < topology.nodes.size(); ++n) {
    const Node& node = topology.nodes[n];
    if (node.parent < 0) continue;
    const auto parent = static_cast<std::uint32_t>(node.parent);
    const std::string type = link_type(node, topology.nodes[parent]);
    if (type == "pci") {
      topology.links.push_back(device_link(topology, n, read[n]));
      continue;
    }
    // A memory without processors beside it hangs from its parent; all others contain what uses them.
    const bool leaf = node.cpus.empty();
    const AssumedCost& across = leaf ? same_numa : assumed_cost(topology, census, parent);
    const double latency_ns = leaf ? across.latency_ns / 2 : (latency[parent] - latency[n]) / 2;
    Link link{n, parent, type, assumed(across.bandwidth_bytes_per_s, across.what), assumed(latency_ns, across.what)};
    const ReadFigures& memory = read[leaf ? n : parent];
    if (type == "memory" && memory.bandwidth_bytes_per_s > 0)
      link.bandwidth_bytes_per_s = {memory.bandwidth_bytes_per_s, Provenance::read, memory.source};
    topology.links.push_back(std::move(link));
  }
}

Figure distance_latency(double ratio) {
  return assumed(std::max(0.0, ratio - 1) * same_numa.latency_ns,
                 "the firmware's distance (read) times the default for one NUMA node");
}

Figure distance_bandwidth() {
  return assumed(other_numa.bandwidth_bytes_per_s, "default between NUMA nodes");
}

Figure device_link_latency() {
  return assumed(700, "default for a link between accelerators");
}

Figure network_latency() {
  return assumed(5000, "default for one end of a network: half of 10 us");
}

Figure network_bandwidth() {
  return assumed(1.25e9, "default for a network interface: 10 Gb/s");
}

}  // namespace rondo

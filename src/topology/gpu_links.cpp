#include "topology/gpu_links.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "topology/accelerators.hpp"
#include "topology/wires.hpp"

namespace rondo {
namespace {

Wire::End end_at(nvml::Peer peer) {
  switch (peer) {
    case nvml::Peer::gpu: break;
    case nvml::Peer::processor: return Wire::End::processor;
    case nvml::Peer::nvswitch: return Wire::End::switches;
  }
  return Wire::End::device;
}

bool has_gpus(const Topology& topology) {
  return std::any_of(topology.nodes.begin(), topology.nodes.end(), [](const Node& node) { return node.kind == NodeKind::gpu; });
}

/// −1: there is none.
std::int32_t gpu_at(const Topology& topology, std::uint32_t host, const std::string& address) {
  const auto found = std::find_if(topology.nodes.begin(), topology.nodes.end(), [&](const Node& node) {
    return node.kind == NodeKind::gpu && node.host == host && node.address == address;
  });
  return found == topology.nodes.end() ? -1 : static_cast<std::int32_t>(found - topology.nodes.begin());
}

}  // namespace

void add_gpu_links(Topology& topology, const nvml::Facts& facts) {
  std::vector<Wire> wires;
  for (const nvml::Gpu& gpu : facts.gpus) {
    const std::int32_t node = gpu_at(topology, 0, gpu.address);
    if (node < 0) continue;
    const auto index = static_cast<std::uint32_t>(node);
    for (const nvml::Links& links : gpu.links) {
      Figure each = nvlink_bandwidth(gpu.sm);
      each.source += ", counted by NVML";
      const std::string target = links.peer == nvml::Peer::gpu ? links.address : "";  // all switches are one, whether they are seen on PCI or not
      wires.push_back({index, end_at(links.peer), target, "nvlink", links.count, each});
    }
  }
  add_wires(topology, wires);
}

bool place_on_gpus(Topology& topology, const std::vector<std::string>& addresses) {
  if (addresses.size() != topology.ranks.size()) return false;
  std::vector<std::int32_t> nodes;
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    const std::int32_t node = gpu_at(topology, topology.ranks[rank].host, addresses[rank]);
    if (node < 0 || std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return false;
    nodes.push_back(node);
  }
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) topology.ranks[rank].node = nodes[rank];
  return true;
}

Result<void> add_gpu_links(Topology& topology) {
  if (!has_gpus(topology) || access("/proc/driver/nvidia/version", F_OK) != 0) return {};
  const auto& facts = nvml::facts_of_this_machine();
  if (!facts) return facts.error();
  add_gpu_links(topology, *facts);
  return {};
}

}  // namespace rondo

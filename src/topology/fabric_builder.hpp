// What made-up fabrics are put together from: endpoints, switches, links.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "rondo/topology.hpp"
#include "topology/costs.hpp"

namespace rondo {

constexpr std::uint32_t most_endpoints = 1u << 17;  ///< GPUs of a made-up fabric

/// A kind of link, with where its figures come from.
struct LinkKind {
  std::string type;
  Figure bandwidth;  ///< in one direction
  Figure latency;
};

/// Those of a data sheet or a paper, which `source` names; `latency_ns` is a default of its class.
inline LinkKind link_kind(std::string type, double bytes_per_s, std::string source, Figure latency) {
  return {std::move(type), assumed(bytes_per_s, std::move(source)), std::move(latency)};
}

inline Figure switch_latency() { return assumed(500, "default for a hop between switches"); }

class FabricBuilder {
 public:
  /// A machine of its own, called NAME#k.
  std::uint32_t machine(const std::string& name) {
    const std::string called = name + "#" + std::to_string(topology_.hosts.size());
    topology_.hosts.push_back("fabric-" + called);
    return node(NodeKind::machine, called, -1);
  }
  std::uint32_t gpu(std::uint32_t machine) { return node(NodeKind::gpu, "gpu#" + std::to_string(gpus_++), static_cast<std::int32_t>(machine)); }
  std::uint32_t node(NodeKind kind, std::string name, std::int32_t parent) {
    const std::uint32_t host = parent >= 0 ? topology_.nodes[parent].host : static_cast<std::uint32_t>(std::max<std::size_t>(1, topology_.hosts.size()) - 1);
    topology_.nodes.push_back({kind, std::move(name), parent, host, 0, {}, {}});
    return static_cast<std::uint32_t>(topology_.nodes.size() - 1);
  }
  /// A switch that belongs to no machine.
  std::uint32_t net_switch(std::string name) { return node(NodeKind::net_switch, std::move(name), -1); }

  /// `times` such links between two nodes, as one.
  void link(std::uint32_t from, std::uint32_t to, const LinkKind& kind, double times = 1) {
    topology_.links.push_back({from, to, kind.type, kind.bandwidth, kind.latency});
    topology_.links.back().bandwidth_bytes_per_s.value *= times;
  }
  void reserve(std::size_t nodes, std::size_t links) {
    topology_.nodes.reserve(nodes);
    topology_.links.reserve(links);
  }
  Topology take() { return std::move(topology_); }

 private:
  Topology topology_;
  std::uint32_t gpus_ = 0;
};

}  // namespace rondo

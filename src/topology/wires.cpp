#include "topology/wires.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "topology/costs.hpp"

namespace rondo {
namespace {

class Wiring {
 public:
  explicit Wiring(Topology& topology) : topology_(topology) {
    for (std::uint32_t n = 0; n < topology.nodes.size(); ++n)
      if (!topology.nodes[n].address.empty()) by_address_.emplace(std::pair(topology.nodes[n].host, topology.nodes[n].address), n);
    for (std::size_t n = 0; n < topology.links.size(); ++n) known_.emplace(key(topology.links[n].from, topology.links[n].to, topology.links[n].type), n);
    given_ = topology.links.size();
  }

  void add(const Wire& wire) {
    const std::int64_t target = target_of(wire);
    if (target < 0 || target == wire.gpu) return;
    const auto to = static_cast<std::uint32_t>(target);
    const Figure all{wire.each.value * static_cast<double>(wire.count), wire.each.provenance, std::to_string(wire.count) + " x " + wire.each.source};
    const auto [at, fresh] = known_.emplace(key(wire.gpu, to, wire.type), topology_.links.size());
    if (fresh)
      topology_.links.push_back({wire.gpu, to, wire.type, all, device_link_latency()});
    else if (at->second >= given_ && topology_.nodes[to].kind == NodeKind::net_switch && topology_.links[at->second].from == wire.gpu)
      topology_.links[at->second].bandwidth_bytes_per_s.value += all.value;  // to several switches, which are one node
  }

 private:
  using Key = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::string>;
  static Key key(std::uint32_t from, std::uint32_t to, const std::string& type) { return {std::minmax(from, to), type}; }

  std::int64_t target_of(const Wire& wire) {
    const std::uint32_t host = topology_.nodes[wire.gpu].host;
    if (const auto found = by_address_.find({host, wire.target}); found != by_address_.end()) return found->second;
    if (wire.end == Wire::End::switches) return nvswitch(host);
    std::int32_t node = static_cast<std::int32_t>(wire.gpu);
    while (wire.end == Wire::End::processor && node >= 0 && topology_.nodes[node].kind != NodeKind::numa) node = topology_.nodes[node].parent;
    return wire.end == Wire::End::processor ? node : -1;
  }

  std::uint32_t nvswitch(std::uint32_t host) {
    if (const auto found = switches_.find(host); found != switches_.end()) return found->second;
    std::size_t number = 0;
    for (std::uint32_t n = 0; n < topology_.nodes.size(); ++n) {
      const Node& node = topology_.nodes[n];
      if (!node.name.starts_with("nvswitch#")) continue;
      if (node.host == host && node.address.empty()) return switches_[host] = n;  // of earlier wires
      ++number;
    }
    std::int32_t machine = 0;
    while (topology_.nodes[machine].host != host) ++machine;
    topology_.nodes.push_back({NodeKind::net_switch, "nvswitch#" + std::to_string(number), machine, host, 0, {}, {}});
    return switches_[host] = static_cast<std::uint32_t>(topology_.nodes.size() - 1);
  }

  Topology& topology_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> by_address_;  // of each host
  std::map<Key, std::size_t> known_;               // links
  std::size_t given_ = 0;                          // links that were there before
  std::map<std::uint32_t, std::uint32_t> switches_;  // by host
};

}  // namespace

void add_wires(Topology& topology, const std::vector<Wire>& wires) {
  Wiring wiring(topology);
  for (const Wire& wire : wires) wiring.add(wire);
}

}  // namespace rondo

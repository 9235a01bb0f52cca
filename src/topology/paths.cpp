#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rondo/topology.hpp"
#include "topology/costs.hpp"
#include "topology/device_paths.hpp"

namespace rondo {
namespace {

// From a node up to its root, itself first.
std::vector<std::uint32_t> ancestors(const Topology& topology, std::int32_t node) {
  std::vector<std::uint32_t> chain;
  for (; node >= 0; node = topology.nodes[node].parent) chain.push_back(static_cast<std::uint32_t>(node));
  return chain;
}

bool contains(const std::vector<std::uint32_t>& nodes, std::uint32_t node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// What was met so far on a path.
class Walk {
 public:
  explicit Walk(const Topology& topology) : topology_(topology) {}

  void cross(const Link& link) {
    cost_.latency_ns += link.latency_ns.value;
    narrow(link.bandwidth_bytes_per_s.value);
    weaken(link.latency_ns.provenance);
    weaken(link.bandwidth_bytes_per_s.provenance);
  }

  // Every link from a node of `chain` to its parent.
  void climb(const std::vector<std::uint32_t>& chain, std::size_t nodes) {
    for (const Link& link : topology_.links) {
      const auto found = std::find(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(nodes), link.from);
      if (found != chain.begin() + static_cast<std::ptrdiff_t>(nodes) &&
          topology_.nodes[link.from].parent == static_cast<std::int32_t>(link.to))
        cross(link);
    }
  }

  PathCost result() const {
    PathCost cost = cost_;
    if (!std::isfinite(cost.bandwidth_bytes_per_s)) cost.bandwidth_bytes_per_s = 0;
    return cost;
  }

 private:
  void narrow(double bandwidth) { cost_.bandwidth_bytes_per_s = std::min(cost_.bandwidth_bytes_per_s, bandwidth); }
  void weaken(Provenance provenance) { cost_.provenance = std::max(cost_.provenance, provenance); }

  const Topology& topology_;
  PathCost cost_{0, std::numeric_limits<double>::infinity(), Provenance::probed};
};

// Where two chains meet: how many nodes of each lie below the common one.
struct Meeting {
  std::size_t below_a = 0;
  std::size_t below_b = 0;
};

Meeting meet(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto found = std::find(b.begin(), b.end(), a[i]);
    if (found != b.end()) return {i, static_cast<std::size_t>(found - b.begin())};
  }
  return {a.size(), b.size()};
}

// The firmware's distance between two memories, if there is one below the meeting point of both chains.
const Link* memory_link(const Topology& topology, const std::vector<std::uint32_t>& a,
                        const std::vector<std::uint32_t>& b, const Meeting& meeting) {
  for (const Link& link : topology.links) {
    if (link.type != "numa") continue;
    const bool forward = contains(a, link.from) && contains(b, link.to);
    const bool backward = contains(b, link.from) && contains(a, link.to);
    if (!forward && !backward) continue;
    const auto& above = forward ? a : b;
    const std::size_t below = forward ? meeting.below_a : meeting.below_b;
    if (static_cast<std::size_t>(std::find(above.begin(), above.end(), link.from) - above.begin()) < below)
      return &link;
  }
  return nullptr;
}

std::size_t height_of(const std::vector<std::uint32_t>& chain, const Link& link) {
  const auto from = std::find(chain.begin(), chain.end(), link.from);
  const auto end = from != chain.end() ? from : std::find(chain.begin(), chain.end(), link.to);
  return static_cast<std::size_t>(end - chain.begin());
}

// A host's way out: its fastest link to a network, or none.
const Link* uplink(const Topology& topology, std::uint32_t host) {
  const Link* best = nullptr;
  for (const Link& link : topology.links) {
    if (link.type != "network" || topology.nodes[link.from].host != host) continue;
    if (best == nullptr || link.bandwidth_bytes_per_s.value > best->bandwidth_bytes_per_s.value) best = &link;
  }
  return best;
}

// From a processor to the network: along the tree to the interface, then out.
void leave_host(const Topology& topology, const std::vector<std::uint32_t>& chain, std::uint32_t host, Walk& walk) {
  const Link* out = uplink(topology, host);
  if (out == nullptr) {
    walk.cross({0, 0, "network", network_bandwidth(), network_latency()});
    walk.climb(chain, chain.size());
    return;
  }
  const auto device = ancestors(topology, static_cast<std::int32_t>(out->from));
  const Meeting meeting = meet(chain, device);
  walk.climb(chain, meeting.below_a);
  walk.climb(device, meeting.below_b);
  walk.cross(*out);
}

// The link nearest to a processor: what it gets when it talks to itself.
PathCost own_figures(const Topology& topology, const std::vector<std::uint32_t>& chain) {
  Walk walk{topology};
  walk.climb(chain, std::min<std::size_t>(chain.size(), 1));
  return walk.result();
}

// Between two nodes of one host.
PathCost inside_host(const Topology& topology, const std::vector<std::uint32_t>& a,
                     const std::vector<std::uint32_t>& b) {
  const Meeting meeting = meet(a, b);
  if (meeting.below_a == 0 && meeting.below_b == 0) return own_figures(topology, a);
  Walk walk{topology};
  const Link* link = memory_link(topology, a, b, meeting);
  walk.climb(a, link != nullptr ? height_of(a, *link) : meeting.below_a);
  walk.climb(b, link != nullptr ? height_of(b, *link) : meeting.below_b);
  if (link != nullptr) walk.cross(*link);
  return walk.result();
}

PathCost between_hosts(const Topology& topology, const RankPlace& a, const RankPlace& b) {
  Walk walk{topology};
  leave_host(topology, ancestors(topology, a.node), a.host, walk);
  leave_host(topology, ancestors(topology, b.node), b.host, walk);
  return walk.result();
}

// The processors at both ends of a place: a rank that may move is somewhere between them.
std::vector<std::int32_t> ends(const Topology& topology, const RankPlace& place) {
  std::vector<std::int32_t> found;
  for (std::size_t n = 0; n < topology.nodes.size() && !place.cpus.empty(); ++n) {
    const Node& node = topology.nodes[n];
    if (node.kind != NodeKind::cpu || node.host != place.host) continue;
    if (node.cpus.front() == place.cpus.front() || node.cpus.front() == place.cpus.back())
      found.push_back(static_cast<std::int32_t>(n));
  }
  if (found.empty()) found.push_back(place.node);
  return found;
}

}  // namespace

PathCost Topology::between(std::uint32_t rank_a, std::uint32_t rank_b) const {
  const RankPlace& a = ranks.at(rank_a);
  const RankPlace& b = ranks.at(rank_b);
  if (is_device(*this, a) && is_device(*this, b) && a.node != b.node)
    return DevicePaths(*this).between(static_cast<std::uint32_t>(a.node), static_cast<std::uint32_t>(b.node));
  if (a.host != b.host) return between_hosts(*this, a, b);
  // Ranks that may move are taken where they are farthest from one another.
  PathCost worst{-1, 0, Provenance::assumed};
  for (const std::int32_t end_a : ends(*this, a))
    for (const std::int32_t end_b : ends(*this, b)) {
      const PathCost cost = inside_host(*this, ancestors(*this, end_a), ancestors(*this, end_b));
      if (cost.latency_ns > worst.latency_ns) worst = cost;
    }
  return worst;
}

std::uint32_t Topology::usable_cpus(std::uint32_t host) const {
  std::vector<std::uint32_t> cpus;
  for (const RankPlace& place : ranks)
    if (place.host == host) cpus.insert(cpus.end(), place.cpus.begin(), place.cpus.end());
  if (cpus.empty())
    for (const Node& node : nodes)
      if (node.kind == NodeKind::cpu && node.host == host) cpus.insert(cpus.end(), node.cpus.begin(), node.cpus.end());
  std::sort(cpus.begin(), cpus.end());
  const auto count = static_cast<std::uint32_t>(std::unique(cpus.begin(), cpus.end()) - cpus.begin());
  const bool limited = host == 0 && cpu_quota > 0 && cpu_quota < count;
  // Rounded down: a rank more than the quota pays for would be stopped in the middle of its spinning.
  return std::max(1u, limited ? static_cast<std::uint32_t>(cpu_quota + 1e-6) : count);
}

}  // namespace rondo

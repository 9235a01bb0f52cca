#include "topology/device_paths.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

namespace rondo {
namespace {

constexpr double large_message = 1 << 20;  // bytes: what a way is chosen for
constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

double time_over(const Link& link) { return link.latency_ns.value + large_message / link.bandwidth_bytes_per_s.value * 1e9; }

/// What is known from one end: how soon a message is at a node, and the link by which it came.
struct Search {
  struct Reached {
    double time = never;
    std::uint32_t by = nowhere;
  };
  using Entry = std::pair<double, std::uint32_t>;
  std::unordered_map<std::uint32_t, Reached> reached;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;

  explicit Search(std::uint32_t begin) {
    reached[begin].time = 0;
    next.emplace(0, begin);
  }
  double nearest() const { return next.empty() ? never : next.top().first; }
  double time_to(std::uint32_t node) const {
    const auto found = reached.find(node);
    return found == reached.end() ? never : found->second.time;
  }
};

}  // namespace

DevicePaths::DevicePaths(const Topology& topology) : topology_(topology), first_(topology.nodes.size() + 1, 0) {
  const auto usable = [](const Link& link) { return link.bandwidth_bytes_per_s.value > 0; };
  for (const Link& link : topology.links)
    if (usable(link)) ++first_[link.from + 1], ++first_[link.to + 1];
  for (std::size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
  links_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t l = 0; l < topology.links.size(); ++l) {
    if (!usable(topology.links[l])) continue;
    links_[next[topology.links[l].from]++] = l;
    links_[next[topology.links[l].to]++] = l;
  }
}

/// From both ends at once (Nicholson, 1966), until what is left to look at can't be sooner than the way that was found.
PathCost DevicePaths::between(std::uint32_t from, std::uint32_t to) const {
  Search ends[2] = {Search(from), Search(to)};
  const auto other_end = [&](std::uint32_t link, std::uint32_t node) {
    return topology_.links[link].from == node ? topology_.links[link].to : topology_.links[link].from;
  };
  double best = never;
  std::uint32_t meeting = nowhere;
  while (ends[0].nearest() + ends[1].nearest() < best) {
    Search& here = ends[0].nearest() <= ends[1].nearest() ? ends[0] : ends[1];
    const Search& there = &here == &ends[0] ? ends[1] : ends[0];
    const auto [time, node] = here.next.top();
    here.next.pop();
    if (time > here.time_to(node)) continue;
    if (time > 0 && topology_.nodes[node].kind == NodeKind::gpu) continue;
    for (std::uint32_t k = first_[node]; k < first_[node + 1]; ++k) {
      const std::uint32_t end = other_end(links_[k], node);
      const double sooner = time + time_over(topology_.links[links_[k]]);
      Search::Reached& reached = here.reached[end];
      if (sooner >= reached.time) continue;
      reached = {sooner, links_[k]};
      here.next.emplace(sooner, end);
      const bool through_gpu = topology_.nodes[end].kind == NodeKind::gpu && end != from && end != to;
      if (through_gpu || sooner + there.time_to(end) >= best) continue;
      best = sooner + there.time_to(end);
      meeting = end;
    }
  }
  PathCost cost{0, 0, Provenance::probed};
  for (const Search& end : ends)
    for (std::uint32_t node = meeting; node != nowhere && end.reached.at(node).by != nowhere;) {
      const Link& link = topology_.links[end.reached.at(node).by];
      const double bandwidth = link.bandwidth_bytes_per_s.value;
      cost.latency_ns += link.latency_ns.value;
      cost.bandwidth_bytes_per_s = cost.bandwidth_bytes_per_s > 0 ? std::min(cost.bandwidth_bytes_per_s, bandwidth) : bandwidth;
      cost.provenance = std::max({cost.provenance, link.latency_ns.provenance, link.bandwidth_bytes_per_s.provenance});
      node = other_end(end.reached.at(node).by, node);
    }
  return cost;
}

bool is_device(const Topology& topology, const RankPlace& place) {
  return place.node >= 0 && topology.nodes[place.node].kind == NodeKind::gpu;
}

PathCost RankPaths::between(std::uint32_t rank_a, std::uint32_t rank_b) const {
  const RankPlace& a = topology_.ranks.at(rank_a);
  const RankPlace& b = topology_.ranks.at(rank_b);
  const bool devices = is_device(topology_, a) && is_device(topology_, b) && a.node != b.node;
  return devices ? devices_.between(static_cast<std::uint32_t>(a.node), static_cast<std::uint32_t>(b.node)) : topology_.between(rank_a, rank_b);
}

}  // namespace rondo

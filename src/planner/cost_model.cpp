// The cost model's figures: what the topology's links say, and for the rest defaults that say so.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "planner/algorithm.hpp"

namespace rondo {
namespace {

// Round figures from the middle of what x86 servers since 2017 do; only their order of magnitude decides between plans.
constexpr double copy_ns_per_byte = 0.01;    // 100 GB/s inside a core's own caches
constexpr double reduce_ns_per_byte = 0.01;  // one more stream of vector additions
constexpr double memory_ns_per_byte = 0.03;  // one core's share of what memory channels give
constexpr double step_ns = 4;
constexpr double switch_ns = 1000;  // sched_yield to another rank and back to a waiter
constexpr std::uint64_t default_cache_bytes = 1u << 20;
constexpr double lines_in_flight = 16;  // misses that one core keeps open
constexpr std::uint32_t sampled_pairs = 256;

struct WorstPath {
  PathCost cost{0, 0, Provenance::probed};
  std::uint32_t rank_a = 0;
  std::uint32_t rank_b = 0;
};

/// A collective is as slow as its slowest pair. Neighbours, and rank 0 with everybody, stand for all pairs.
WorstPath worst_path(const Topology& topology, std::uint32_t ranks) {
  WorstPath worst;
  double bandwidth = INFINITY;
  const std::uint32_t stride = std::max(1u, ranks / sampled_pairs);
  for (std::uint32_t rank = 1; rank < ranks; rank += stride)
    for (const std::uint32_t other : {0u, rank - 1}) {
      const PathCost path = topology.between(other, rank);
      if (path.bandwidth_bytes_per_s > 0) bandwidth = std::min(bandwidth, path.bandwidth_bytes_per_s);
      worst.cost.provenance = std::max(worst.cost.provenance, path.provenance);
      if (path.latency_ns <= worst.cost.latency_ns) continue;
      worst.cost.latency_ns = path.latency_ns;
      worst.rank_a = other;
      worst.rank_b = rank;
    }
  worst.cost.bandwidth_bytes_per_s = std::isfinite(bandwidth) ? bandwidth : 0;
  return worst;
}

/// The scarcest host's processors for each of its ranks, at most one.
double cores_per_rank(const Topology& topology) {
  std::vector<std::uint32_t> ranks_on(std::max<std::size_t>(1, topology.hosts.size()), 0);
  for (const RankPlace& place : topology.ranks) {
    if (place.host >= ranks_on.size()) ranks_on.resize(place.host + 1, 0);
    ++ranks_on[place.host];
  }
  double least = 1;
  for (std::uint32_t host = 0; host < ranks_on.size(); ++host)
    if (ranks_on[host] != 0) least = std::min(least, static_cast<double>(topology.usable_cpus(host)) / ranks_on[host]);
  return least;
}

/// Rank 0's part of the largest cache above one of its processors.
std::uint64_t cache_of_rank(const Topology& topology) {
  if (topology.ranks.empty() || topology.ranks[0].cpus.empty()) return 0;
  const RankPlace& place = topology.ranks[0];
  const auto holds = [](const Node& node, const RankPlace& rank) {
    return node.host == rank.host && !rank.cpus.empty() &&
           std::find(node.cpus.begin(), node.cpus.end(), rank.cpus[0]) != node.cpus.end();
  };
  const Node* largest = nullptr;
  for (const Node& node : topology.nodes)
    if (node.kind == NodeKind::cache && holds(node, place) && (largest == nullptr || node.bytes > largest->bytes))
      largest = &node;
  if (largest == nullptr) return 0;
  const auto sharing = std::count_if(topology.ranks.begin(), topology.ranks.end(),
                                     [&](const RankPlace& rank) { return holds(*largest, rank); });
  return largest->bytes / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(1, sharing));
}

std::string figure(const char* name, double value, const std::string& source) {
  char text[64];
  std::snprintf(text, sizeof text, "%s %.4g: ", name, value);
  return text + source;
}

std::string pair(const WorstPath& path) {
  return "between ranks " + std::to_string(path.rank_a) + " and " + std::to_string(path.rank_b);
}

constexpr std::size_t latency_sources = 2;  // the first ones, set_latency's: latency_ns and line_ns

void name_other_sources(CostModel& cost, const std::string& weakest, bool cache_known, bool own_cache_known) {
  const std::string others[] = {
      figure("pull_ns_per_byte", cost.pull_ns_per_byte, weakest + ", the narrowest link between ranks"),
      figure("copy_ns_per_byte", cost.copy_ns_per_byte, "assumed, a core's own caches"),
      figure("reduce_ns_per_byte", cost.reduce_ns_per_byte, "assumed, vector instructions"),
      figure("step_ns", cost.step_ns, "assumed"),
      figure("cores_per_rank", cost.cores_per_rank, "read, processors and quota of the scarcest host"),
      figure("switch_ns", cost.switch_ns, "assumed, yielding to another rank"),
      figure("own_cache_bytes", static_cast<double>(cost.own_cache_bytes),
             own_cache_known ? "read, the largest cache of rank 0's core alone" : "assumed, no such cache is known"),
      figure("cache_bytes", static_cast<double>(cost.cache_bytes),
             cache_known ? "read, rank 0's part of its largest cache" : "assumed, no cache is known"),
      figure("memory_ns_per_byte", cost.memory_ns_per_byte, "assumed, one core's part of the memory's bandwidth")};
  cost.sources.insert(cost.sources.end(), std::begin(others), std::end(others));
}

}  // namespace

void set_latency(CostModel& cost, double latency_ns, const std::string& source) {
  cost.latency_ns = latency_ns;
  cost.line_ns = latency_ns / lines_in_flight;
  if (cost.sources.size() < latency_sources) cost.sources.resize(latency_sources);
  cost.sources[0] = figure("latency_ns", cost.latency_ns, source);
  cost.sources[1] = figure("line_ns", cost.line_ns, "derived: sixteen cache lines under way at once");
}

CostModel cost_model(const Topology& topology, std::uint32_t ranks) {
  if (topology.ranks.size() != ranks) return cost_model(with_ranks(topology, ranks), ranks);
  const WorstPath path = worst_path(topology, ranks);
  const std::uint64_t cache = cache_of_rank(topology);
  const std::string weakest(to_string(path.cost.provenance));
  CostModel cost;
  set_latency(cost, path.cost.latency_ns, weakest + ", " + pair(path) + ", the farthest");
  cost.copy_ns_per_byte = copy_ns_per_byte;
  const double bandwidth = path.cost.bandwidth_bytes_per_s;
  cost.pull_ns_per_byte = bandwidth > 0 ? std::max(copy_ns_per_byte, 1e9 / bandwidth) : copy_ns_per_byte;
  cost.reduce_ns_per_byte = reduce_ns_per_byte;
  cost.step_ns = step_ns;
  cost.cores_per_rank = cores_per_rank(topology);
  cost.switch_ns = switch_ns;
  const std::uint64_t own_cache = private_cache_bytes(topology, 0);
  cost.own_cache_bytes = own_cache != 0 ? own_cache : default_cache_bytes;
  cost.cache_bytes = cache != 0 ? cache : default_cache_bytes;
  cost.memory_ns_per_byte = memory_ns_per_byte;
  name_other_sources(cost, weakest, cache != 0, own_cache != 0);
  planner::find_levels(topology, ranks, cost);
  return cost;
}

}  // namespace rondo

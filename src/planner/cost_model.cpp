// The cost model's figures: what the topology's links say, and for the rest defaults that say so.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "planner/algorithm.hpp"
#include "planner/crossing.hpp"
#include "topology/device_paths.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t default_cache_bytes = 1u << 20;
constexpr double inlined_lines = 20;  // inlined lines under way at once
constexpr double line_bytes = 64;
constexpr double worth_passing_caches = 0.9;  // of the time through them
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
  const RankPaths paths(topology);
  const std::uint32_t stride = std::max(1u, ranks / sampled_pairs);
  for (std::uint32_t rank = 1; rank < ranks; rank += stride)
    for (const std::uint32_t other : {0u, rank - 1}) {
      const PathCost path = paths.between(other, rank);
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

/// The scarcest host's processors for each of its ranks, at most one. Ranks that are GPUs share none.
double cores_per_rank(const Topology& topology) {
  std::vector<std::uint32_t> ranks_on(std::max<std::size_t>(1, topology.hosts.size()), 0);
  for (const RankPlace& place : topology.ranks) {
    if (place.cpus.empty()) continue;
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

/// Ranks that share a processor share its caches, and all of them the largest one, of which slots are to take a part.
std::uint64_t ring_bytes(const CostModel& cost) {
  return std::min(static_cast<std::uint64_t>(cost.core.ring_bytes * cost.cores_per_rank), cost.cache_bytes / 8);
}

std::string figure(const char* name, double value, const std::string& source) {
  char text[64];
  std::snprintf(text, sizeof text, "%s %.4g: ", name, value);
  return text + source;
}

std::string pair(const WorstPath& path) {
  return "between ranks " + std::to_string(path.rank_a) + " and " + std::to_string(path.rank_b);
}

/// How many times farther than the known distance one is, as bytes cost: a flag between the same two cores takes up to half longer by where the line is that it
/// stands in, and no byte costs more for that; what takes twice as long is another distance.
double times_farther(double latency_ns, double known_ns) {
  constexpr double same = 1.5, another = 2;
  if (latency_ns < known_ns) return 1 / times_farther(known_ns, latency_ns);
  const double times = latency_ns / known_ns;
  if (times >= another) return times;
  return 1 + (another - 1) * std::max(0.0, times - same) / (another - same);
}

constexpr std::size_t latency_sources = 6;  // the first ones, set_latency's

/// What a byte costs at a distance, never below `least`, what it costs without any. Between two distances that are known it goes from one to the other with the
/// distance's logarithm, flat at both ends; the straight line through the two longest is followed beyond them; below the shortest, or where one is known, what
/// it costs more than `least` grows with the distance.
double figure_at(const CoreFigures& core, double latency_ns, double least, double LinkFigures::* figure) {
  const std::vector<LinkFigures>& links = core.links;
  if (links.empty()) return least;
  if (links.size() == 1 || latency_ns <= links.front().latency_ns)
    return least + std::max(0.0, links.front().*figure - least) * times_farther(latency_ns, links.front().latency_ns);
  std::size_t above = 1;
  while (above + 1 < links.size() && links[above].latency_ns < latency_ns) ++above;
  const LinkFigures &near = links[above - 1], &far = links[above];
  double part = (latency_ns - near.latency_ns) / (far.latency_ns - near.latency_ns);
  if (part < 1) {
    const double between = std::log(latency_ns / near.latency_ns) / std::log(far.latency_ns / near.latency_ns);
    part = between * between * (3 - 2 * between);
  }
  return std::max(least, near.*figure + (far.*figure - near.*figure) * part);
}

std::string known_distances(const CoreFigures& core) {
  std::string text;
  for (const LinkFigures& link : core.links) text += (text.empty() ? "" : ", ") + std::to_string(std::lround(link.latency_ns));
  return text.empty() ? "no distance" : text + " ns";
}

/// Whether a figure that earlier calibrations didn't have was measured at all distances.
bool known(const CoreFigures& core, double LinkFigures::* figure) {
  return !core.links.empty() && std::all_of(core.links.begin(), core.links.end(), [&](const LinkFigures& link) { return link.*figure > 0; });
}

/// Whether slots may be written past the caches: where that was measured at all distances, and where all readers are equally far, with caches of their own.
bool may_pass_caches(const CostModel& cost) {
  return known(cost.core, &LinkFigures::past_publish_ns_per_byte) && cost.levels.empty() && cost.cores_per_rank >= 1;
}

void name_other_sources(CostModel& cost, bool cache_known, bool own_cache_known) {
  const CoreFigures& core = cost.core;
  const std::string others[] = {
      figure("copy_ns_per_byte", core.copy_ns_per_byte, core.source),
      figure("reduce_ns_per_byte", core.reduce_ns_per_byte, core.source),
      figure("shared_ns_per_byte", core.shared_ns_per_byte, core.source),
      figure("memory_ns_per_byte", core.memory_ns_per_byte, core.source),
      figure("kernel_ns_per_byte", core.kernel_ns_per_byte, core.source),
      figure("kernel_call_ns", core.kernel_call_ns, core.source),
      figure("step_ns", core.step_ns, core.source),
      figure("call_ns", core.call_ns, core.source),
      figure("switch_ns", core.switch_ns, core.source),
      figure("cores_per_rank", cost.cores_per_rank, "read, processors and quota of the scarcest host"),
      figure("own_cache_bytes", static_cast<double>(cost.own_cache_bytes),
             own_cache_known ? "read, the largest cache of rank 0's core alone" : "assumed, no such cache is known"),
      figure("cache_bytes", static_cast<double>(cost.cache_bytes),
             cache_known ? "read, rank 0's part of its largest cache" : "assumed, no cache is known"),
      figure("ring_bytes", static_cast<double>(cost.ring_bytes), "for each processor of a rank, at most an eighth of cache_bytes: " + core.source)};
  cost.sources.insert(cost.sources.end(), std::begin(others), std::end(others));
}

}  // namespace

double planner::pull_at(const CoreFigures& core, double latency_ns) {
  return figure_at(core, latency_ns, core.copy_ns_per_byte, &LinkFigures::pull_ns_per_byte);
}

void set_latency(CostModel& cost, double latency_ns, const std::string& source) {
  const CoreFigures& core = cost.core;
  cost.latency_ns = latency_ns;
  cost.pull_ns_per_byte = std::max(cost.link_ns_per_byte, planner::pull_at(core, latency_ns));
  cost.publish_ns_per_byte = figure_at(core, latency_ns, core.copy_ns_per_byte, &LinkFigures::publish_ns_per_byte);
  cost.share_ns_per_byte = figure_at(core, latency_ns, 0, &LinkFigures::share_ns_per_byte);
  cost.slots_past_caches = false;
  if (may_pass_caches(cost)) {
    const double publish = figure_at(core, latency_ns, core.copy_ns_per_byte, &LinkFigures::past_publish_ns_per_byte);
    const double pull = figure_at(core, latency_ns, core.copy_ns_per_byte, &LinkFigures::past_pull_ns_per_byte);
    if (publish + pull < worth_passing_caches * (cost.publish_ns_per_byte + cost.pull_ns_per_byte)) {
      cost.slots_past_caches = true;
      cost.publish_ns_per_byte = cost.share_ns_per_byte = publish;
      cost.pull_ns_per_byte = std::max(cost.link_ns_per_byte, pull);
    }
  }
  // What goes past the caches no first cache holds.
  const bool fresh = !cost.slots_past_caches && known(core, &LinkFigures::fresh_pull_ns_per_byte);
  const double fresh_pull = figure_at(core, latency_ns, core.copy_ns_per_byte, &LinkFigures::fresh_pull_ns_per_byte);
  cost.fresh_pull_ns_per_byte = fresh ? std::max(cost.link_ns_per_byte, fresh_pull) : cost.pull_ns_per_byte;
  // Inlined lines have just been written, too.
  cost.line_ns = std::max(latency_ns / inlined_lines, fresh ? line_bytes * cost.fresh_pull_ns_per_byte : 0);
  if (cost.sources.size() < latency_sources) cost.sources.resize(latency_sources);
  const std::string past = cost.slots_past_caches ? "past the caches, " : "";
  const std::string where = past + "latency_ns, known at " + known_distances(core) + ": " + core.source;
  cost.sources[0] = figure("latency_ns", cost.latency_ns, source);
  cost.sources[1] = figure("line_ns", cost.line_ns, "latency_ns, 20 lines under way at once: assumed; no less than fresh_pull_ns_per_byte");
  cost.sources[2] = figure("pull_ns_per_byte", cost.pull_ns_per_byte, where);
  cost.sources[3] = figure("publish_ns_per_byte", cost.publish_ns_per_byte, where);
  cost.sources[4] = figure("share_ns_per_byte", cost.share_ns_per_byte, where);
  cost.sources[5] = figure("fresh_pull_ns_per_byte", cost.fresh_pull_ns_per_byte, fresh ? where : "not known, pull_ns_per_byte");
}

CostModel cost_model(const Topology& topology, std::uint32_t ranks) { return cost_model(topology, ranks, core_figures(topology)); }

CostModel cost_model(const Topology& topology, std::uint32_t ranks, const CoreFigures& core) {
  if (topology.ranks.size() != ranks) return cost_model(with_ranks(topology, ranks), ranks, core);
  const WorstPath path = worst_path(topology, ranks);
  const std::uint64_t cache = cache_of_rank(topology);
  CostModel cost;
  cost.core = core;
  if (path.cost.provenance != Provenance::assumed && path.cost.bandwidth_bytes_per_s > 0) cost.link_ns_per_byte = 1e9 / path.cost.bandwidth_bytes_per_s;
  cost.cores_per_rank = cores_per_rank(topology);
  cost.sources.resize(latency_sources);
  const std::uint64_t own_cache = private_cache_bytes(topology, 0);
  cost.own_cache_bytes = own_cache != 0 ? own_cache : default_cache_bytes;
  cost.cache_bytes = cache != 0 ? cache : default_cache_bytes;
  cost.ring_bytes = ring_bytes(cost);
  name_other_sources(cost, cache != 0, own_cache != 0);
  planner::find_network(topology, ranks, cost);
  planner::find_levels(topology, ranks, cost);
  // Behind the levels, on which it depends whether slots go past the caches.
  set_latency(cost, path.cost.latency_ns, std::string(to_string(path.cost.provenance)) + ", " + pair(path) + ", the farthest");
  planner::find_rings(topology, ranks, cost);
  return cost;
}

}  // namespace rondo

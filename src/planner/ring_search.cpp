// Rings of GPUs along their widest wires. All ways round are looked at (Held and Karp, 1962), so that the numbers that GPUs happen to have make no
// difference to how good a ring is.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "planner/algorithm.hpp"
#include "planner/gpu_ways.hpp"

namespace rondo::planner {
namespace {

constexpr std::size_t most_rings = 16;

/// The order of all that costs least, from one to the next and, `closed`, back to the first; empty: there is none.
Ring cheapest(const Pairs& costs, bool closed) {
  const std::uint32_t n = costs.n, full = (1u << n) - 1;
  std::vector<double> best(std::size_t{full + 1} * n, no_way);  // by set of those that were visited, and the last of them
  std::vector<std::uint8_t> before(best.size());
  for (std::uint32_t first = 0; first < (closed ? 1 : n); ++first) best[(std::size_t{1} << first) * n + first] = 0;
  for (std::uint32_t set = 1; set <= full; ++set)
    for (std::uint32_t last = 0; last < n; ++last) {
      const double cost = best[std::size_t{set} * n + last];
      if (cost == no_way) continue;
      for (std::uint32_t next = 0; next < n; ++next) {
        if ((set >> next & 1) != 0) continue;
        double& there = best[std::size_t{set | 1u << next} * n + next];
        if (cost + costs.at(last, next) >= there) continue;
        there = cost + costs.at(last, next);
        before[std::size_t{set | 1u << next} * n + next] = static_cast<std::uint8_t>(last);
      }
    }
  const auto whole = [&](std::uint32_t last) { return best[std::size_t{full} * n + last] + (closed ? costs.at(last, 0) : 0); };
  std::uint32_t last = 0;
  for (std::uint32_t k = 1; k < n; ++k)
    if (whole(k) < whole(last)) last = k;
  if (whole(last) == no_way) return {};
  Ring ring;
  for (std::uint32_t set = full; set != 0;) {
    ring.push_back(last);
    const std::uint32_t previous = before[std::size_t{set} * n + last];
    set &= ~(1u << last);
    last = previous;
  }
  std::reverse(ring.begin(), ring.end());
  return ring;
}

/// The order whose narrowest way is as wide as can be and, of those, whose ways together take the least time.
Ring widest(const Pairs& widths, bool closed) {
  const std::set<double> all(widths.figures.begin(), widths.figures.end());
  std::vector<double> least(all.begin(), all.end());  // ascending; the first always serves
  Ring found;
  std::size_t low = 0, high = least.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    Pairs costs(widths.n, no_way);
    for (std::uint32_t a = 0; a < widths.n; ++a)
      for (std::uint32_t b = 0; b < a; ++b)
        if (widths.at(a, b) > 0 && widths.at(a, b) >= least[middle]) costs.set(a, b, 1 / widths.at(a, b));
    Ring ring = cheapest(costs, closed);
    if (ring.empty()) {
      high = middle;
    } else {
      found = std::move(ring);
      low = middle + 1;
    }
  }
  return found;
}

double narrowest(const Pairs& widths, const Ring& ring) {
  double width = no_way;
  for (std::uint32_t k = 0; k < ring.size(); ++k) width = std::min(width, widths.at(ring[k], ring[(k + 1) % ring.size()]));
  return width;
}

/// As many rings as found of which no two use the same wire, going for wires of which most are left.
std::vector<Ring> apart(Pairs wires, std::mt19937& random) {
  std::vector<Ring> rings;
  while (rings.size() < most_rings / 2) {
    Pairs costs(wires.n, no_way);
    for (std::uint32_t a = 0; a < wires.n; ++a)
      for (std::uint32_t b = 0; b < a; ++b)
        if (wires.at(a, b) >= 1) costs.set(a, b, 1 / wires.at(a, b) + 1e-3 * static_cast<double>(random() % 1024));
    Ring ring = cheapest(costs, true);
    if (ring.empty()) return rings;
    for (std::uint32_t k = 0; k < ring.size(); ++k) {
      const std::uint32_t a = ring[k], b = ring[(k + 1) % ring.size()];
      wires.set(a, b, wires.at(a, b) - 1);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

/// The best of several tries: a ring may take the wires that two others could have had.
std::vector<Ring> most_apart(const Pairs& wires) {
  std::mt19937 random(1);
  double bound = no_way;  // each ring takes two wires of each GPU
  for (std::uint32_t a = 0; a < wires.n; ++a) {
    double own = 0;
    for (std::uint32_t b = 0; b < wires.n; ++b) own += wires.at(a, b);
    bound = std::min(bound, std::floor(own / 2));
  }
  std::vector<Ring> best;
  for (int left = wires.n <= 10 ? 64 : 2; left > 0 && static_cast<double>(best.size()) < bound; --left) {
    std::vector<Ring> rings = apart(wires, random);
    if (rings.size() > best.size()) best = std::move(rings);
  }
  return best;
}

/// The wires between GPUs of their own, in units of the narrowest; `unit` becomes that one's width.
Pairs wires_between(const Topology& topology, const Ring& ranks, double& unit) {
  Pairs wires(static_cast<std::uint32_t>(ranks.size()));
  unit = no_way;
  for (const Link& link : topology.links)
    for (std::uint32_t a = 0; a < wires.n; ++a)
      for (std::uint32_t b = 0; b < wires.n; ++b) {
        const auto is = [&](std::uint32_t k, std::uint32_t node) { return topology.ranks[ranks[k]].node == static_cast<std::int32_t>(node); };
        if (!is(a, link.from) || !is(b, link.to)) continue;
        wires.set(a, b, wires.at(a, b) + link.bandwidth_bytes_per_s.value);
        unit = std::min(unit, link.bandwidth_bytes_per_s.value);
      }
  for (double& wire : wires.figures) wire = std::floor(wire / unit * (1 + 1e-9));
  return wires;
}

void append(std::vector<std::uint32_t>& rings, const Ring& ring, const Ring& ranks, bool backwards) {
  const std::size_t begin = rings.size();
  for (const std::uint32_t k : ring) rings.push_back(ranks[k]);
  if (backwards) std::reverse(rings.begin() + static_cast<std::ptrdiff_t>(begin), rings.end());
}

std::string gigabytes(double width) {
  const auto tenths = static_cast<std::uint64_t>(width / 1e8 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GB/s";
}

}  // namespace

void find_rings(const Topology& topology, std::uint32_t ranks, CostModel& cost) {
  const std::vector<Ring> hosts = gpus_by_host(topology, ranks);
  if (hosts.empty()) return;
  cost.sources.push_back("ranks are GPUs: times are those of ranks on processors whom such links join, since no figures of GPUs are known");
  if (hosts.size() > 1) {
    for (const Ring& host : hosts)
      append(cost.rings, host.size() > 1 ? widest(widths_between(topology, host), false) : Ring{0}, host, false);
    cost.sources.push_back("a ring through " + std::to_string(hosts.size()) + " hosts, inside each along its widest ways");
    return;
  }
  const Ring& host = hosts[0];
  const Pairs widths = widths_between(topology, host);
  const Ring single = widest(widths, true);
  if (single.empty()) return;
  const double width = narrowest(widths, single);
  double unit = 0;
  const std::vector<Ring> several = most_apart(wires_between(topology, host, unit));
  if (several.empty() || 2 * static_cast<double>(several.size()) * unit <= width) {
    append(cost.rings, single, host, false);
    cost.sources.push_back("a ring along the widest ways, " + gigabytes(width) + " at its narrowest");
    return;
  }
  for (const Ring& ring : several)
    for (const bool backwards : {false, true}) append(cost.rings, ring, host, backwards);
  cost.sources.push_back(std::to_string(2 * several.size()) + " rings along wires of their own, two in each circle, " + gigabytes(unit) + " each");
}

}  // namespace rondo::planner

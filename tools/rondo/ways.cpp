#include "ways.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <utility>

using namespace rondo;

namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// Pairs of ranks that move bytes between them, the smaller number first.
std::set<Pair> pairs_of(const Plan& plan) {
  std::set<Pair> pairs;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps)
        for (const Operands* operands : {&step.sources, &step.destinations})
          for (const Operand& operand : *operands)
            if (operand.rank != self && operand.rank != rank) pairs.insert(std::minmax(rank, operand.rank));
  return pairs;
}

}  // namespace

std::string ways_taken(const Plan& plan, const Topology& topology) {
  constexpr std::uint32_t most_ranks = 256;
  const auto is_gpu = [&](const RankPlace& place) { return place.node >= 0 && topology.nodes[static_cast<std::size_t>(place.node)].kind == NodeKind::gpu; };
  if (plan.header.ranks > most_ranks || !std::all_of(topology.ranks.begin(), topology.ranks.end(), is_gpu)) return {};
  std::map<double, std::uint32_t, std::greater<>> widths;
  std::uint32_t pairs = 0;
  for (const auto& [a, b] : pairs_of(plan)) {
    ++widths[topology.between(a, b).bandwidth_bytes_per_s];
    ++pairs;
  }
  if (pairs == 0) return {};
  std::string text = "ways between " + std::to_string(pairs) + (pairs == 1 ? " pair of ranks:" : " pairs of ranks:");
  for (const auto& [width, count] : widths) {
    char figure[48];
    std::snprintf(figure, sizeof figure, " %u of %.4g GB/s", count, width / 1e9);
    text += (text.back() == ':' ? "" : ",") + std::string(figure);
  }
  return text;
}

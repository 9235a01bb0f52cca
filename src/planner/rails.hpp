// What plans have in common whose ranks are in groups (a box, a host) and, across these, on rails: those in the same seat of their groups.
#pragma once

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {

inline constexpr std::uint32_t largest_group = 64;

/// A rank's group, its number, and the rank's seat in it, along the plan's order.
struct RailPlace {
  RailPlace(const PlanHeader& plan, std::uint32_t rank) : header(plan), group(plan.groups.front()), groups(plan.ranks / group) {
    const std::uint32_t position = position_of(plan, rank);
    number = position / group;
    seat = position % group;
  }
  std::uint32_t rank_of(std::uint32_t which_group, std::uint32_t which_seat) const { return rank_at(header, which_group * group + which_seat); }

  const PlanHeader& header;
  std::uint32_t group;   ///< ranks of one
  std::uint32_t groups;  ///< how many: the ranks of a rail
  std::uint32_t number = 0, seat = 0;
};

/// Where ranks are on several hosts these are the groups: what crosses between smaller ones is no network.
inline bool serves_rails(const Level& level, const Network& network) {
  const std::set<std::uint32_t> hosts(network.hosts.begin(), network.hosts.end());
  return level.ranks <= largest_group && (hosts.empty() || level.ranks * hosts.size() == network.hosts.size());
}

inline std::string_view no_rails(const CostModel& cost) {
  if (cost.levels.empty()) return "no cache, memory, socket or host parts the ranks into equal groups";
  const bool any = std::any_of(cost.levels.begin(), cost.levels.end(), [&](const Level& level) { return serves_rails(level, cost.network); });
  return any ? std::string_view() : "no group of the machine's has 64 ranks or less, or hosts have unlike numbers of ranks";
}

inline double group_of(const CostModel& cost, const Shape& shape) { return cost.levels[static_cast<std::size_t>(std::countr_zero(shape.levels))].ranks; }

/// The groups whose plan costs least. `shape_of(ranks of a group)`, but for the level.
template <class ShapeOf>
Shape cheapest_groups(const Request& request, const CostModel& cost, const PlanLimits& limits, const ShapeOf& shape_of, decltype(Algorithm::predict) predict) {
  Shape best;
  double least = 0;
  for (std::size_t level = 0; level < cost.levels.size(); ++level) {
    if (!serves_rails(cost.levels[level], cost.network)) continue;
    Shape made = shape_of(cost.levels[level].ranks);
    made.levels = 1u << level;
    const double total = predict(request, cost, limits, made).total_ns();
    if (best.levels != 0 && total >= least) continue;
    best = made;
    least = total;
  }
  return best;
}

}  // namespace rondo::planner

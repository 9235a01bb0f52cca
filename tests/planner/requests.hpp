// Requests, machines and figures that the planner's tests share.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rondo/planner.hpp"
#include "support/catch.hpp"

namespace rondo::test {

/// Figures like those of a server whose cores share a cache.
inline CostModel near_cores() {
  CostModel cost;
  cost.core = core_figures(Topology{});
  set_latency(cost, 100, "made up");
  cost.own_cache_bytes = 1u << 20;
  cost.cache_bytes = 16u << 20;
  return cost;
}

inline PlanLimits limits_of_shared_memory() {
  PlanLimits limits;
  limits.staging_bytes = 500u << 10;
  limits.inline_bytes = 32 * 56;
  return limits;
}

inline Request request_of(Collective collective, std::uint32_t ranks, std::uint64_t bytes, std::uint32_t root = 0) {
  return {collective, ranks, bytes / 4, DataType::f32, ReduceOp::sum, root};
}

/// Groups in groups, smallest first, with links between them so slow that every level is worth following.
using GroupSizes = std::vector<std::uint32_t>;
inline std::vector<Level> levels_of(const GroupSizes& groups) {
  std::vector<Level> levels;
  double crossing = 1e3;
  for (const std::uint32_t ranks : groups) levels.push_back({"made up", ranks, true, 1.0 + static_cast<double>(levels.size()), 0.033, crossing *= 10});
  return levels;
}

/// Buffers are ordinary ones, but for the algorithms that need others; one of those may write into peers'.
inline Result<Plan> plan_of(Request request, const std::string& algorithm = "", bool mapped = true, const GroupSizes& groups = {}) {
  request.symmetric = request.symmetric || algorithm.starts_with("direct");
  PlanLimits limits = limits_of_shared_memory();
  limits.reach = mapped ? Reach::memory : Reach::messages;
  // Where all is free but links, hierarchical follows all levels, whether or not it sends less by them.
  CostModel cost = algorithm == "hierarchical" ? CostModel{} : near_cores();
  cost.levels = levels_of(groups);
  if (algorithm.empty()) return make_plan(Topology{}, cost, limits, request);
  return make_plan(Topology{}, cost, limits, request, algorithm);
}

/// The ways in which an algorithm is tried: with no groups, or with all of one and of two levels (of many ranks, those of middling size).
inline std::vector<GroupSizes> groupings(std::string_view algorithm, std::uint32_t ranks) {
  const bool of_one_level = algorithm.starts_with("rail");
  if (algorithm != "hierarchical" && !of_one_level) return {{}};
  std::vector<GroupSizes> all;
  const auto fits = [&](std::uint32_t size) { return ranks % size == 0 && (ranks <= 16 || (size > 2 && 3 * size <= ranks)); };
  for (std::uint32_t inner = 2; inner < ranks; ++inner) {
    if (!fits(inner)) continue;
    all.push_back({inner});
    if (of_one_level) continue;
    for (std::uint32_t outer = 2 * inner; outer < ranks; outer += inner)
      if (fits(outer)) all.push_back({inner, outer});
  }
  return all;
}

inline const std::vector<Collective>& all_collectives() {
  static const std::vector<Collective> all{Collective::all_reduce,     Collective::reduce,     Collective::broadcast,
                                           Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all,
                                           Collective::all_to_all_v,   Collective::gather,     Collective::scatter,
                                           Collective::scan,           Collective::barrier,    Collective::send_recv};
  return all;
}

/// Calls `check` with every plan that some algorithm makes for `ranks` ranks: roots at both ends and in the middle, mapped
/// ranks and links, a message small enough for any protocol and, where that makes another plan, one of many pieces.
inline void for_all_plans(std::uint32_t ranks, const std::function<void(const Plan&, const std::string&)>& check) {
  for (const std::string_view algorithm : algorithm_names())
    for (const Collective collective : all_collectives())
      for (const std::uint32_t root : {0u, ranks / 2, ranks - 1}) {
        if (root != 0 && (!is_rooted(collective) || root >= ranks)) continue;
        for (const bool mapped : {true, false})
          for (const GroupSizes& groups : groupings(algorithm, ranks)) {
            std::optional<PlanHeader> seen;
            for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{64} << 20}) {
              const auto plan = plan_of(request_of(collective, ranks, bytes, root), std::string(algorithm), mapped, groups);
              if (!plan || (seen && *seen == plan->header)) continue;  // header and algorithm make the plan
              seen = plan->header;
              std::string name = std::string(algorithm) + " " + std::string(to_string(collective)) + ", " + std::to_string(ranks) + " ranks, root " +
                                 std::to_string(root) + (mapped ? ", " : ", links, ") + std::to_string(bytes) + " bytes";
              for (const std::uint32_t size : plan->header.groups) name += ", groups of " + std::to_string(size);
              INFO(name);
              CHECK(plan->header.groups == groups);
              check(*plan, name);
            }
          }
      }
}

}  // namespace rondo::test

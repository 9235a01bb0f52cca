#include "verifier/planner_plans.hpp"

#include <set>

#include "planner/requests.hpp"

namespace rondo::test {

std::vector<NamedPlan> planner_plans() {
  std::vector<NamedPlan> plans;
  std::set<std::string> seen;
  const auto add = [&](const Request& request, const std::string& algorithm, bool mapped, const GroupSizes& groups) {
    const auto plan = plan_of(request, algorithm, mapped, groups);
    if (!plan) return;
    PlanHeader bare = plan->header;
    bare.min_bytes = bare.max_bytes = bare.piece_bytes = 0;
    std::vector<Program> programs;
    for (std::uint32_t rank = 0; rank < bare.ranks; ++rank) programs.push_back(plan->program(rank));
    if (!seen.insert(write_plan(Plan(bare, std::move(programs)))).second) return;
    plans.push_back({algorithm + " " + std::string(to_string(request.collective)) + " of " +
                         std::to_string(request.ranks) + (mapped ? "" : ", links"),
                     *plan});
  };
  for (std::uint32_t ranks = 2; ranks <= 4; ++ranks)
    for (const std::string_view algorithm : algorithm_names())
      for (const Collective collective : all_collectives())
        for (const std::uint64_t bytes : {8u, 1u << 14, 1u << 24})
          for (const bool mapped : {true, false})
            for (const GroupSizes& groups : groupings(algorithm, ranks))
              add(request_of(collective, ranks, bytes, ranks > 2 ? 1 : 0), std::string(algorithm), mapped, groups);
  return plans;
}

}  // namespace rondo::test

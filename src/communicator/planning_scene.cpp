// Planning without a communicator.
#include <algorithm>

#include "rondo/calibration.hpp"
#include "rondo/planning.hpp"

namespace rondo {

Result<PlanningScene> planning_scene(std::optional<Topology> machine, std::uint32_t ranks) {
  auto options = planning_options(ranks);
  if (!options) return options.error();
  const bool here = !machine;
  if (here) {
    auto found = discover_topology();
    if (!found) return found.error();
    machine = std::move(*found);
  }
  PlanningScene scene{with_ranks(std::move(*machine), ranks), {}, *options};
  scene.cost = cost_model(scene.topology, ranks, here ? known_core_figures(scene.topology) : core_figures(scene.topology));
  scene.options.limits.reach = scene.cost.network.hosts.empty() ? Reach::memory : Reach::hosts;
  return scene;
}

Result<Plan> plan_call(const PlanningScene& scene, const Request& request, const std::string& algorithm) {
  if (algorithm.empty()) return plan_call(scene.topology, scene.cost, scene.options, request);
  return make_plan(scene.topology, scene.cost, scene.options.limits, request, algorithm);
}

Request request_of_bytes(Collective collective, std::uint32_t ranks, std::uint64_t bytes, DataType type, bool in_place) {
  const BlockCounts blocks = block_counts(collective, ranks);
  const std::uint64_t unit = size_of(type) * std::max({blocks.input, blocks.output, 1u});
  Request request;
  request.collective = collective;
  request.ranks = ranks;
  request.count = bytes / unit;
  request.type = type;
  request.alias = !in_place ? Alias::none : input_is_block(collective) || output_is_block(collective) ? Alias::block : Alias::same;
  return request;
}

}  // namespace rondo

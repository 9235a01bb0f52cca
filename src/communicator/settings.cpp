#include "communicator/settings.hpp"

#include "communicator/layouts.hpp"
#include "communicator/staging_budget.hpp"
#include "executor/slot_layout.hpp"
#include "rondo/planning.hpp"

namespace rondo {

std::string choices_for_algorithm(const std::string& name) {
  if (name.empty()) return "";
  std::string choices;
  for (const std::string_view known : algorithm_names()) {
    if (known == name) return "";
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  return choices;
}

Result<Config> settings() {
  if (!config()) return config().error();
  const std::string& algorithm = config()->algorithm;
  if (const std::string choices = choices_for_algorithm(algorithm); !choices.empty())
    return Error{Errc::invalid_argument, "RONDO_ALGORITHM='" + algorithm + "'; accepted: " + choices};
  return *config();
}

Result<PlanningOptions> planning_options(std::uint32_t ranks) {
  auto set = settings();
  if (!set) return set.error();
  PlanningOptions options;
  options.algorithm = std::move(set->algorithm);
  options.strict = set->strict;
  options.checked = set->integrity;
  options.limits = limits_of(main_layout(first_share(set->staging_bytes, ranks)));
  return options;
}

Result<Plan> plan_call(const Topology& topology, const CostModel& cost, const PlanningOptions& options, const Request& request) {
  Request wanted = request;
  wanted.strict |= options.strict;
  PlanLimits limits = options.limits;
  if (options.checked) {
    wanted.symmetric = wanted.kernel_copies = false;
    limits.inline_bytes = 0;
    limits.slot_header_bytes = sizeof(SlotHeader);
  }
  if (!options.algorithm.empty()) {
    auto forced = make_plan(topology, cost, limits, wanted, options.algorithm);
    if (forced || forced.error().code != Errc::unsupported) return forced;
  }
  return make_plan(topology, cost, limits, wanted);
}

}  // namespace rondo

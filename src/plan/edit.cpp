#include "plan/edit.hpp"

#include <algorithm>

namespace rondo::plan {
namespace {

std::uint32_t largest_skew(const Lane& lane) {
  std::uint32_t skew = 0;
  for (const Step& step : lane.steps) skew = std::max(skew, step.skew);
  return skew;
}

}  // namespace

std::vector<Program> all_programs(const Plan& plan) {
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) programs.push_back(plan.program(rank));
  return programs;
}

Plan with_programs(const Plan& plan, PlanHeader header, std::vector<Program> programs) {
  Plan changed(std::move(header), std::move(programs));
  changed.predicted_ns = plan.predicted_ns;
  changed.considered = plan.considered;
  return changed;
}

std::uint32_t largest_skew(const std::vector<Program>& programs) {
  std::uint32_t skew = 0;
  for (const Program& program : programs)
    for (const Lane& lane : program.lanes) skew = std::max(skew, largest_skew(lane));
  return skew;
}

std::uint32_t depth_for_credits(const PlanHeader& header, const std::vector<Program>& programs) {
  return std::max(header.depth, 2 * largest_skew(programs) + 1);
}

Step make_wait(const WaitFor& wait, std::uint32_t skew) {
  Step step;
  step.kind = StepKind::wait;
  step.skew = skew;
  step.wait = wait;
  return step;
}

Step make_signal(std::uint32_t skew) {
  Step step;
  step.kind = StepKind::signal;
  step.skew = skew;
  return step;
}

std::uint32_t end_signal(Lane& lane) {
  if (const auto signal = existing_end_signal(lane)) return *signal;
  lane.steps.push_back(make_signal(largest_skew(lane)));
  return *existing_end_signal(lane);
}

void settle_once(std::vector<Program>& programs) {
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank)
    for (Lane& lane : programs[rank].lanes) {
      std::erase_if(lane.steps, [&](const Step& step) { return step.once && step.once->rank != rank; });  // no `after` names a step by its number there
      for (Step& step : lane.steps) step.once.reset();
    }
}

std::optional<std::uint32_t> existing_end_signal(const Lane& lane) {
  const auto is_signal = [](const Step& step) { return step.kind == StepKind::signal; };
  if (lane.steps.empty() || !is_signal(lane.steps.back()) || lane.steps.back().skew != largest_skew(lane))
    return std::nullopt;
  return static_cast<std::uint32_t>(std::count_if(lane.steps.begin(), lane.steps.end(), is_signal) - 1);
}

void Insertions::apply(Program& program) const {
  if (steps_.empty()) return;
  std::vector<std::vector<std::uint32_t>> moved(program.lanes.size());  // [lane][old step] → new one
  for (std::uint32_t l = 0; l < program.lanes.size(); ++l) {
    std::vector<Step> steps;
    for (std::size_t s = 0; s < program.lanes[l].steps.size(); ++s) {
      if (const auto at = steps_.find({l, s}); at != steps_.end())
        steps.insert(steps.end(), at->second.begin(), at->second.end());
      moved[l].push_back(static_cast<std::uint32_t>(steps.size()));
      steps.push_back(std::move(program.lanes[l].steps[s]));
    }
    program.lanes[l].steps = std::move(steps);
  }
  for (Lane& lane : program.lanes)
    for (Step& step : lane.steps)
      for (After& after : step.after)
        if (after.lane < moved.size() && after.step < moved[after.lane].size())
          after.step = moved[after.lane][after.step];
}

}  // namespace rondo::plan

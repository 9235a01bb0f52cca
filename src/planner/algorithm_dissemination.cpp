// Dissemination barrier (Hensgen, Finkel, Manber, 1988): in round k a rank tells the one 2^k ahead and hears from the
// one 2^k behind; after ⌈log2 p⌉ rounds it has heard of all. Of signals where ranks are mapped, else of empty messages.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

Program program(const PlanHeader& header, std::uint32_t rank) {
  LaneBuilder lane;
  std::uint32_t round = 0;
  for (std::uint32_t distance = 1; distance < header.ranks; distance *= 2, ++round) {
    const std::uint32_t ahead = (rank + distance) % header.ranks;
    const std::uint32_t behind = (rank + header.ranks - distance) % header.ranks;
    if (header.neutral) {
      lane.copy(scratch(0), {link(ahead, round)});
      lane.copy(link(behind, round), {scratch(0)});
    } else {
      lane.signal();
      lane.wait(behind, round);
    }
  }
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return request.collective == Collective::barrier ? std::string_view() : other_collective;
}

Shape shape(const Request& request, const CostModel&, const PlanLimits& limits) {
  const bool mapped = limits.reach == Reach::memory;
  const std::uint32_t scratch = mapped ? 0 : 1;
  return {Protocol::staged, !mapped, 1, scratch, scratch == 0 ? 0 : scratch + log2_ceil(request.ranks), 2, 0};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double rounds = log2_ceil(request.ranks);
  return {rounds * terms.signal_ns(), terms.work_ns(0, 2 * rounds), rounds, 0};
}

}  // namespace

const Algorithm dissemination_algorithm{"dissemination", false, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

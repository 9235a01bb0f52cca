// One rank alone: its input is the result.
#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return request.ranks == 1 ? std::string_view() : "it serves a single rank";
}

Shape shape(const Request&, const CostModel&, const PlanLimits&) {
  return {};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  return {0, terms.work_ns(terms.copy(terms.block), 1), 0, terms.block};
}

Program program(const PlanHeader& header, std::uint32_t) {
  LaneBuilder lane;
  if (header.collective != Collective::barrier) lane.copy(input(0), {output(0)}, is_reduction(header.collective));
  return lane.take_program();
}

}  // namespace

const Algorithm copy_algorithm{"copy", false, objection, shape, predict, program, Order::none};

}  // namespace rondo::planner

// Plans whose scratch holds a 16-bit type.
#include <algorithm>

#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

Request by_way_of(DataType wire, std::uint32_t ranks, std::uint64_t bytes) {
  Request request = request_of(Collective::all_reduce, ranks, bytes);
  request.wire = wire;
  return request;
}

Result<Plan> planned(const Request& request, bool mapped = true) {
  PlanLimits limits = limits_of_shared_memory();
  limits.reach = mapped ? Reach::memory : Reach::messages;
  return make_plan(Topology{}, near_cores(), limits, request);
}

}  // namespace

TEST_CASE("a wire type is served in one shot and in two, and proved like any plan") {
  for (const std::uint32_t ranks : {2u, 3u, 8u})
    for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{16} << 10, std::uint64_t{64} << 20}) {
      const auto plan = planned(by_way_of(DataType::bf16, ranks, bytes));
      REQUIRE(plan);
      INFO(ranks << " ranks, " << bytes << " bytes: " << plan->header.algorithm);
      CHECK((plan->header.algorithm == "one_shot" || plan->header.algorithm == "two_shot"));
      CHECK(plan->header.wire == DataType::bf16);
      CHECK(verify(*plan).proved());
      for (const Candidate& candidate : plan->considered)
        if (candidate.algorithm == "ring" || candidate.algorithm == "inline") CHECK(candidate.note == "can't serve: it has no form for a wire type");
    }
}

TEST_CASE("over messages a wire type is served by rings and rails, whose results go where they are stored in the same step") {
  PlanLimits limits = limits_of_shared_memory();
  limits.reach = Reach::hosts;
  CostModel cost = near_cores();
  cost.levels = levels_of({2});
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{64} << 20})
    for (const char* algorithm : {"ring", "rings", "rail"}) {
      const auto plan = make_plan(Topology{}, cost, limits, by_way_of(DataType::bf16, 6, bytes), algorithm);
      REQUIRE(plan);
      CHECK(plan->header.wire == DataType::bf16);
      CHECK(verify(*plan).proved());
      for (std::uint32_t rank = 0; rank < 6; ++rank) {
        const Program program = plan->program(rank);
        for (const Lane& lane : program.lanes)
          for (const Step& step : lane.steps) {
            const auto passes_on = [](const Operand& operand) { return operand.buffer == Buffer::link; };
            if (step.finish) CHECK(std::any_of(step.destinations.begin(), step.destinations.end(), passes_on));
          }
      }
    }
  CHECK_FALSE(make_plan(Topology{}, cost, limits, by_way_of(DataType::bf16, 6, 4096), "tree"));
}

TEST_CASE("a rank alone has no wire, nor have more than 64") {
  const auto alone = planned(by_way_of(DataType::bf16, 1, 4096));
  REQUIRE(alone);
  CHECK(!alone->header.wire);
  const auto links = planned(by_way_of(DataType::bf16, 2, 4096), false);
  REQUIRE(links);
  CHECK(links->header.algorithm == "ring");
  const auto many = planned(by_way_of(DataType::bf16, 65, 4096));
  REQUIRE(!many);
  CHECK(many.error().detail.find("64 ranks at most") != std::string::npos);
}

TEST_CASE("what moves in half the bytes is cheaper") {
  for (const std::uint32_t ranks : {2u, 8u}) {
    const auto narrow = planned(by_way_of(DataType::bf16, ranks, 16 << 20));
    const auto plain = planned(request_of(Collective::all_reduce, ranks, 16 << 20));
    REQUIRE((narrow && plain));
    CHECK(narrow->predicted_ns < plain->predicted_ns);
  }
}

TEST_CASE("wire types without sense are refused") {
  Request type = by_way_of(DataType::f32, 2, 4096), op = by_way_of(DataType::f16, 2, 4096), elements = op, collective = op;
  op.op = ReduceOp::max;
  elements.type = DataType::f64;
  collective.collective = Collective::reduce;
  for (const Request& request : {type, op, elements, collective}) {
    const auto plan = planned(request);
    REQUIRE(!plan);
    CHECK(plan.error().code == Errc::invalid_argument);
    CHECK(plan.error().detail.find("expected f16 or bf16, for all_reduce of f32") != std::string::npos);
  }
}

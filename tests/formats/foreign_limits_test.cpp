// Texts that are more than MSCCL or MSCCL++ can run say so.
#include "rondo/formats.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

Plan ring_of(std::uint32_t ranks) {
  PlanLimits limits;
  limits.reach = Reach::messages;
  const auto plan = make_plan(Topology{}, cost_model(Topology{}, ranks), limits, {Collective::all_reduce, ranks, 1 << 20}, "ring");
  if (!plan) FAIL(plan.error().detail);
  return *plan;
}

}  // namespace

TEST_CASE("a text of more steps than MSCCL or MSCCL++ takes says so, and one of fewer says nothing") {
  CHECK(exceeded_limits(*export_msccl_xml(ring_of(8))).empty());
  CHECK(exceeded_limits(*export_msccl_xml(ring_of(40))) == "MSCCL takes at most 64 steps a thread block, and this has up to 79");
  CHECK(exceeded_limits(*export_mscclpp_json(ring_of(4))).empty());
  const std::string excess = exceeded_limits(*export_mscclpp_json(ring_of(40)));
  CHECK(excess.starts_with("MSCCL++ takes at most 64 operations a thread block, and this has up to "));
}

TEST_CASE("each limit is told by its name") {
  std::string blocks;
  for (int k = 0; k < 65; ++k) blocks += "<tb><step cnt=\"" + std::to_string(k == 7 ? 72 : 1) + "\"/></tb>";
  CHECK(exceeded_limits("<algo><gpu>" + blocks + "</gpu></algo>") ==
        "MSCCL takes at most 64 thread blocks a GPU, and this has up to 65, 71 chunks a step, and this has up to 72");
  const std::string nine = "[0, 1, 2, 3, 4, 5, 6, 7, 8]";
  CHECK(exceeded_limits(R"({"gpus": [{"threadblocks": [{"ops": [{"name": "wait", "channel_ids": )" + nine + R"(}], "channels": [{"channel_ids": )" + nine +
                        R"(}, {"channel_ids": )" + nine + "}]}]}]}") ==
        "MSCCL++ takes at most 16 channels a thread block, and this has up to 18, 8 channels or buffers an operation, and this has up to 9");
}

TEST_CASE("what is no such text has no limits") {
  for (const char* text : {"", "  ", "<", "{", "[1, 2]", R"({"gpus": 3})", R"({"gpus": [3, {"threadblocks": [4]}]})", "<algo/>"})
    CHECK(exceeded_limits(text).empty());
}

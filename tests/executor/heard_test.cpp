// Whom a rank has heard from: what lets it begin the next call without asking.
#include <array>

#include "executor/compile.hpp"
#include "executor/layouts.hpp"
#include "executor/run.hpp"
#include "planner/requests.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "support/plan_steps.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

/// An inlined broadcast whose root also waits for its receiver, but reads no line of its.
Plan broadcast_that_waits_for_nothing() {
  PlanHeader header;
  header.algorithm = "waits for nothing";
  header.collective = Collective::broadcast;
  header.protocol = Protocol::inlined;
  header.ranks = 2;
  header.scratch_chunks = 1;
  header.depth = 1;
  header.neutral = false;
  header.in_place = false;
  const Lane root{{copy(input(0), {scratch(0), output(0)}), signal(), wait(1, 0, 0)}};
  const Lane receiver{{wait(0, 0, 0), copy(scratch(0, 0), {output(0)}), signal()}};
  return Plan(header, std::vector<Program>{{{root}}, {{receiver}}});
}

}  // namespace

TEST_CASE("a root that waits for lines it never reads doesn't overwrite what its receiver still has to read") {
  const Plan plan = broadcast_that_waits_for_nothing();
  REQUIRE(check_form(plan));
  REQUIRE(verify(plan).proved());
  struct alignas(line_pair) Area {
    std::byte bytes[4096] = {};
  };
  std::array<Area, 2> areas;
  REQUIRE(bare_layout.total_bytes() == sizeof(Area));
  const CallIdentity identity{Collective::broadcast, DataType::i32, ReduceOp::sum, 0, 1, 1};
  std::array<std::int32_t, 3> sent{11, 22, 33}, kept{}, received{};
  std::array<Run, 2> runs;
  std::vector<Context> contexts;
  std::vector<Executable> executables;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    contexts.emplace_back(bare_layout, rank, std::vector<std::byte*>{areas[0].bytes, areas[1].bytes}, std::vector<std::uint32_t>{0, 1}, nullptr);
    CompileRequest request;
    request.rank = rank;
    request.count = 1;
    request.type = DataType::i32;
    request.layout = bare_layout;
    auto executable = compile(plan, request);
    REQUIRE(executable);
    executables.push_back(std::move(*executable));
  }
  const auto begin = [&](std::uint32_t rank, std::size_t call) {
    runs[rank].begin(contexts[rank], executables[rank], identity, identity.digest(), Binding{&sent[call], rank == 0 ? &kept[call] : &received[call], 1});
  };
  // The root comes through two calls alone; the third needs the line of the first.
  for (const std::size_t call : {0, 1}) {
    begin(0, call);
    REQUIRE(runs[0].advance(0) == Progress::done);
  }
  begin(0, 2);
  REQUIRE(runs[0].advance(0) == Progress::blocked);
  for (const std::size_t call : {0, 1, 2}) {
    begin(1, call);
    REQUIRE(runs[1].advance(0) == Progress::done);
    if (call == 0) REQUIRE(runs[0].advance(0) == Progress::done);
  }
  CHECK(received == sent);
  CHECK(kept == sent);
}

TEST_CASE("who ends with what all ranks gave has heard of all of them, though not from each") {
  struct Said {
    Collective collective;
    const char* algorithm;
    std::vector<bool> all;
  };
  const auto said = GENERATE(Said{Collective::barrier, "dissemination", {true, true, true, true}},
                             Said{Collective::all_reduce, "ring", {true, true, true, true}},
                             Said{Collective::gather, "knomial", {false, true, false, false}}, Said{Collective::reduce, "tree", {false, true, false, false}},
                             Said{Collective::scan, "ring", {false, false, false, true}}, Said{Collective::broadcast, "ring", {false, false, false, false}});
  INFO(to_string(said.collective) << " by " << said.algorithm);
  const auto plan = plan_of(request_of(said.collective, 4, 4000, is_rooted(said.collective) ? 1 : 0), said.algorithm);
  REQUIRE(plan);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CompileRequest compiled;
    compiled.rank = rank;
    compiled.count = 1000;
    compiled.proved = true;
    compiled.layout = staged_layout;
    const auto executable = compile(lower(*plan), compiled);
    REQUIRE(executable);
    CHECK(executable->hears_all == said.all[rank]);
    compiled.proved = false;
    const auto unproved = compile(lower(*plan), compiled);
    REQUIRE(unproved);
    CHECK(unproved->hears_all == (unproved->hears.size() == 3));
  }
}

// Copies that nobody waits for: which steps are taken out of their lanes, and when they run.
#include <algorithm>
#include <array>

#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"
#include "support/catch.hpp"
#include "support/plan_steps.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr ContextLayout long_layout{2, 2, 256u << 10};
constexpr std::uint64_t long_block = 1u << 16;  ///< elements: several pieces

std::uint32_t kept_of(Collective collective, std::uint32_t rank, std::uint64_t count = long_block) {
  const auto plan = plan_of(request_of(collective, 2, count * 4), "one_shot");
  REQUIRE(plan);
  return compiled(*plan, rank, count, long_layout).kept.steps;
}

/// A plan of two ranks in which nobody has to do with anybody.
Plan plan_with(Collective collective, std::vector<Step> steps) {
  PlanHeader header;
  header.collective = collective;
  header.ranks = 2;
  header.neutral = false;
  header.scratch_chunks = 1;
  header.piece_bytes = 4096;
  const Program program{{Lane{std::move(steps)}}};
  return Plan(header, std::vector<Program>{program, program});
}

}  // namespace

TEST_CASE("of direct plans only those that fetch set something aside: what others read where it lies must be there when they are told") {
  const auto kept = [](bool fetches, std::uint64_t count) {
    CompileRequest request;
    request.count = count;
    request.layout = long_layout;
    request.direct = true;
    request.fetches = fetches;
    return compile(*plan_of(request_of(Collective::all_gather, 2, 2 * count * 4), "direct_one_shot"), request).value().kept.steps;
  };
  CHECK(kept(true, long_block) == 1);
  CHECK(kept(false, long_block) == 0);
  CHECK(kept(true, 16) == 0);
}

TEST_CASE("a rank's own block is set aside in every collective that has one, where there are several pieces") {
  for (const std::uint32_t rank : {0u, 1u}) {
    CHECK(kept_of(Collective::all_gather, rank) == 1);
    CHECK(kept_of(Collective::all_to_all, rank) == 1);
  }
  CHECK(kept_of(Collective::gather, 0) == 1);
  CHECK(kept_of(Collective::gather, 1) == 0);
  CHECK(kept_of(Collective::broadcast, 0) == 1);
  CHECK(kept_of(Collective::scatter, 0) == 1);
  CHECK(kept_of(Collective::all_reduce, 0) == 0);
  CHECK(kept_of(Collective::all_gather, 0, 16) == 0);
}

TEST_CASE("a copy stays where it is when its order shows") {
  const auto kept = [](Collective collective, std::vector<Step> steps) {
    return compiled(plan_with(collective, std::move(steps)), 1, long_block, long_layout).kept.steps;
  };
  CHECK(kept(Collective::all_to_all, {copy(input(1), {output(1)})}) == 1);
  // in place it overwrites what another step may still have to read
  CHECK(kept(Collective::all_to_all, {copy(input(0), {output(1)})}) == 0);
  CHECK(kept(Collective::all_gather, {copy(input(0), {output(0)})}) == 0);
  CHECK(kept(Collective::all_gather, {copy(input(0), {output(1)})}) == 1);
  // others read or write what it writes
  CHECK(kept(Collective::all_to_all, {copy(input(1), {output(1)}), copy(output(1), {scratch(0)})}) == 0);
  CHECK(kept(Collective::all_to_all, {copy(input(1), {output(1)}), copy(scratch(0), {output(1)})}) == 0);
  // it does more than keep
  CHECK(kept(Collective::all_to_all, {copy(input(1), {output(1), scratch(0)})}) == 0);
  CHECK(kept(Collective::all_to_all, {copy(input(1), {scratch(0)})}) == 0);
}

TEST_CASE("what is set aside is done while the rank waits, and by the end of its call") {
  const auto plan = plan_of(request_of(Collective::gather, 2, long_block * 4), "one_shot");
  REQUIRE(plan);
  TwoRanks ranks(long_layout);
  std::vector<float> input(long_block, 3), other(long_block, 4), output(2 * long_block, 0);
  const CallIdentity identity{Collective::gather, DataType::f32, ReduceOp::sum, 0, long_block, 1};
  const std::array<Executable, 2> executables{compiled(*plan, 0, long_block, long_layout), compiled(*plan, 1, long_block, long_layout)};
  ranks.runs[0].begin(ranks.contexts[0], executables[0], identity, identity.digest(), Binding{input.data(), output.data(), 1});
  REQUIRE(ranks.runs[0].advance(0) == Progress::blocked);
  CHECK(std::count(output.begin(), output.end(), 3.0f) == long_block);  // the other rank hasn't begun
  ranks.runs[1].begin(ranks.contexts[1], executables[1], identity, identity.digest(), Binding{other.data(), nullptr, 1});
  for (Progress root = Progress::blocked, sender = Progress::blocked; root != Progress::done || sender != Progress::done;) {
    if (sender != Progress::done) sender = ranks.runs[1].advance(0);
    if (root != Progress::done) root = ranks.runs[0].advance(0);
    REQUIRE(root != Progress::mismatch);
  }
  CHECK(std::count(output.begin() + long_block, output.end(), 4.0f) == long_block);
}

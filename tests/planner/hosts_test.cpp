// Plans of links on several hosts: what passes inside a host becomes slots, what passes between hosts stays messages.
#include <algorithm>
#include <array>

#include "base/share_host.hpp"
#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

using HostOf = std::vector<std::uint32_t>;

/// Halves; every other rank; the first rank alone; each third rank on a host of its own with nobody.
std::array<HostOf, 4> partings(std::uint32_t ranks) {
  std::array<HostOf, 4> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    all[0].push_back(rank < (ranks + 1) / 2 ? 0 : 1);
    all[1].push_back(rank % 2);
    all[2].push_back(rank == 0 ? 7 : 3);
    all[3].push_back(rank % 3 == 0 ? 100 + rank : 1);
  }
  return all;
}

/// What is wrong with where the plan's steps reach; empty: nothing. Counts the links that stayed.
std::string misplaced(const Plan& plan, const HostOf& hosts, std::uint64_t& links) {
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps) {
        const auto is_wrong = [&](const Operand& operand) {
          links += operand.buffer == Buffer::link;
          const bool here = operand.rank == self || share_host(hosts, rank, operand.rank);
          return here == (operand.buffer == Buffer::link);
        };
        const auto wrong_side = [&](const Operands& operands) { return std::count_if(operands.begin(), operands.end(), is_wrong) != 0; };
        if (wrong_side(step.sources) || wrong_side(step.destinations) || (step.kind == StepKind::wait && !share_host(hosts, rank, step.wait.rank)))
          return "rank " + std::to_string(rank) + ": " + describe(step);
      }
  return "";
}

}  // namespace

TEST_CASE("plans of links stay proved where those inside a host become slots, and reach no other host but by links") {
  std::uint64_t links = 0, plans = 0;
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 6u, 8u, 9u})
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      // A form that has waits of its own beside links is for those who share memory.
      const auto made = plan_of(request_of(plan.header.collective, ranks, 8, plan.header.root), plan.header.algorithm, false, plan.header.groups);
      if (!plan.header.neutral || !made) return;
      for (const HostOf& hosts : partings(ranks)) {
        INFO(name << ", hosts " << Catch::StringMaker<HostOf>::convert(hosts));
        Plan lowered = lower(plan, hosts);
        // Of blocks of unknown lengths a neutral plan has links alone; lowered it is proved for equal ones.
        if (plan.header.collective == Collective::all_to_all_v) lowered.header.collective = Collective::all_to_all;
        const auto form = check_form(lowered);
        INFO((form ? "" : to_string(form.error())));
        REQUIRE(form);
        CHECK(misplaced(lowered, hosts, links) == "");
        const Proof proof = verify(lowered);
        CHECK(proof.proved());
        if (!proof.proved()) FAIL(to_string(proof.violations.front()));
        ++plans;
      }
    });
  CHECK(links > 10'000);
  CHECK(plans > 1'000);
}

TEST_CASE("on one host everything becomes slots, and on hosts of one rank each everything stays") {
  const auto plan = plan_of(request_of(Collective::all_reduce, 4, 1 << 20), "ring");
  REQUIRE(plan);
  CHECK(write_plan(lower(*plan, HostOf(4, 5))) == write_plan(lower(*plan)));
  CHECK(write_plan(lower(*plan, HostOf{0, 1, 2, 3})) == write_plan(lower(*plan, true)));
}

TEST_CASE("a slot that is read as a message of another host, or the other way round, is found by the proof") {
  const auto plan = plan_of(request_of(Collective::all_reduce, 4, 1 << 20), "ring");
  REQUIRE(plan);
  const Plan right = lower(*plan, HostOf{0, 0, 1, 1});
  std::vector<Program> table;
  // Ranks 0 and 1 think that ranks 1 and 2 share a host.
  const Plan wrong = lower(*plan, HostOf{0, 1, 1, 0});
  for (std::uint32_t rank = 0; rank < 4; ++rank) table.push_back((rank < 2 ? wrong : right).program(rank));
  PlanHeader header = right.header;
  header.scratch_chunks = std::max(right.header.scratch_chunks, wrong.header.scratch_chunks);
  CHECK_FALSE(verify(Plan(header, table)).proved());
}

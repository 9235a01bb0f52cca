// Plans of links on several hosts: what passes inside a host becomes slots, what passes between hosts stays messages.
#include <algorithm>
#include <array>

#include "base/share_host.hpp"
#include "planner/algorithm.hpp"
#include "planner/crossing.hpp"
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

/// A machine of the tests' on hosts: groups of as many ranks as each host has, and interfaces of 10 Gb/s.
CostModel costs_on(const HostOf& hosts, std::uint32_t per_host) {
  CostModel cost = near_cores();
  cost.network = {hosts, 0.8};
  if (per_host > 1) cost.levels = levels_of({per_host});
  return cost;
}

PlanLimits limits_between_hosts() {
  PlanLimits limits = limits_of_shared_memory();
  limits.reach = Reach::hosts;
  return limits;
}

/// Parts of the message that the busiest host sends.
double crossed(const std::string& algorithm, const HostOf& hosts, std::uint32_t per_host, Collective collective = Collective::all_reduce) {
  const CostModel cost = costs_on(hosts, per_host);
  const Request request = request_of(collective, static_cast<std::uint32_t>(hosts.size()), 48u << 20);
  const auto plan = make_plan(Topology{}, cost, limits_between_hosts(), request, algorithm);
  REQUIRE(plan);
  double chunks = 0;  // counted here step by step, over all hosts
  for (const std::uint32_t host : hosts) {
    double sent = 0;
    for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
      if (hosts[rank] != host) continue;
      for (const Lane& lane : plan->program(rank).lanes)
        for (const Step& step : lane.steps)
          for (const Operand& operand : step.destinations)
            if (operand.buffer == Buffer::link && hosts[operand.rank] != host) sent += operand.count;
    }
    chunks = std::max(chunks, sent);
  }
  const auto block = static_cast<double>(request.count * 4);
  CHECK(plan->predicted_ns >= 0.8 * chunks / plan->header.chunks_per_block * block);
  return chunks / plan->header.chunks_per_block;
}

}  // namespace

TEST_CASE("what plans send between hosts is in their price") {
  const HostOf pairs{0, 0, 1, 1};
  CHECK(crossed("ring", pairs, 2) == 1.5);
  CHECK(crossed("rail", pairs, 2) == 1);
  CHECK(crossed("halving_doubling", pairs, 2) == 1);
  CHECK(crossed("recursive_doubling", pairs, 2) == 2);
  CHECK(crossed("ring", {0, 1, 0, 1}, 1) == 3);  // each step leaves its host
  CHECK(crossed("rail", {0, 0, 0, 1, 1, 1, 2, 2, 2}, 3) == Approx(2.0 * 2 / 3));
  CHECK(crossed("rail_halving", {0, 0, 0, 1, 1, 1}, 3) == 1);
  CHECK(crossed("rail_halving", {0, 0, 1, 1, 2, 2, 3, 3}, 2) == 2 * 3.0 / 4);
  CHECK(crossed("rail_bine", {0, 0, 1, 1, 2, 2, 3, 3}, 2) == 2 * 3.0 / 4);
  CHECK(crossed("rail_tree", {0, 0, 0, 1, 1, 1}, 3) == 1);
  CHECK(crossed("rail_tree", {0, 0, 1, 1, 2, 2, 3, 3}, 2) == 2);  // inside one tree, and a leaf of the other
  CHECK(crossed("ring", pairs, 2, Collective::all_gather) == 3);
  CHECK(crossed("rail", pairs, 2, Collective::all_gather) == 2);
}

TEST_CASE("of many ranks on a host some stand for all, and the ranks by which a ring leaves it are among them") {
  HostOf hosts;
  for (std::uint32_t rank = 0; rank < 400; ++rank) hosts.push_back(rank / 200);
  const CostModel cost = costs_on(hosts, 200);
  const Request request = request_of(Collective::all_reduce, 400, 400 << 12);
  const std::string ring = "ring";
  for (const std::string& algorithm : {ring, std::string("halving_doubling")}) {
    const auto plan = make_plan(Topology{}, cost, limits_between_hosts(), request, algorithm);
    REQUIRE(plan);
    const Generator program = algorithm == ring ? planner::ring_algorithm.program : planner::halving_doubling_algorithm.program;
    const double bytes = planner::crossing_of(plan->header, program, request, cost.network).bytes;
    INFO(algorithm << ": " << bytes);
    if (algorithm == ring) CHECK(bytes == Approx(2 * 399.0 / 400 * (400 << 12)));
    else CHECK(bytes > 400 << 12);
  }
}

TEST_CASE("between hosts the planner takes what sends least where the network is the bottleneck, and few rounds where it isn't") {
  const HostOf hosts{0, 0, 1, 1};
  const CostModel cost = costs_on(hosts, 2);
  const auto chosen = [&](Collective collective, std::uint64_t bytes) {
    const auto plan = make_plan(Topology{}, cost, limits_between_hosts(), request_of(collective, 4, bytes));
    REQUIRE(plan);
    return plan->header.algorithm;
  };
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{1} << 26}) {
    const std::string algorithm = chosen(Collective::all_reduce, bytes);
    CHECK((algorithm == "rail" || algorithm == "halving_doubling"));
    CHECK(chosen(Collective::all_gather, bytes) == "rail");
  }
  CHECK(chosen(Collective::all_reduce, 8) == "recursive_doubling");
  const auto apart = [&](std::uint64_t bytes) {
    PlanLimits limits = limits_between_hosts();
    limits.reach = Reach::messages;
    const auto plan = make_plan(Topology{}, costs_on({0, 1, 2, 3}, 1), limits, request_of(Collective::all_reduce, 4, bytes));
    REQUIRE(plan);
    return plan->header.algorithm;
  };
  CHECK(apart(1 << 24) == "ring");  // halving_doubling sends as much, but in bursts to one host after the other
  CHECK(apart(8) == "recursive_doubling");
  const auto plan = make_plan(Topology{}, cost, limits_between_hosts(), request_of(Collective::all_reduce, 4, 1 << 26));
  REQUIRE(plan);
  const auto ring = std::find_if(plan->considered.begin(), plan->considered.end(), [](const Candidate& one) { return one.algorithm == "ring"; });
  CHECK(ring->note.find("sends 1.5x the message between hosts") != std::string::npos);
}

TEST_CASE("over messages alone a prediction doesn't depend on how much memory the ranks share, which messages don't lie in") {
  PlanLimits limits = limits_between_hosts();
  limits.reach = Reach::messages;
  const auto predicted = [&](std::uint64_t staging_bytes) {
    limits.staging_bytes = staging_bytes;
    const auto plan = make_plan(Topology{}, costs_on({0, 1}, 1), limits, request_of(Collective::all_reduce, 2, 1 << 24), "ring");
    REQUIRE(plan);
    return plan->predicted_ns;
  };
  CHECK(predicted(200 << 10) == predicted(4 << 20));
}

TEST_CASE("where hosts have several interfaces the planner takes what uses all of them, and prices the busiest") {
  PlanLimits limits = limits_between_hosts();
  const auto chosen = [&](const HostOf& hosts, std::uint32_t per_host, const Interfaces& interfaces, Collective collective = Collective::all_reduce) {
    CostModel cost = costs_on(hosts, per_host);
    cost.network.interfaces = interfaces;
    limits.reach = per_host == 1 ? Reach::messages : Reach::hosts;
    const auto plan = make_plan(Topology{}, cost, limits, request_of(collective, static_cast<std::uint32_t>(hosts.size()), 1 << 26));
    REQUIRE(plan);
    for (const Candidate& one : plan->considered) UNSCOPED_INFO(one.algorithm << ' ' << one.predicted_ns << ' ' << one.note);
    CHECK(verify(*plan).proved());
    return std::pair(plan->header.algorithm, plan->predicted_ns);
  };
  const HostOf two{0, 1}, four{0, 1, 2, 3}, pairs{0, 0, 1, 1};
  for (const HostOf& hosts : {two, four}) {
    const auto by_one = chosen(hosts, 1, {1, {}});
    CHECK(by_one.first == "ring");
    for (const std::uint32_t count : {2u, 3u, 4u}) {
      const auto by_several = chosen(hosts, 1, {count, HostOf(hosts.size())});
      CHECK(by_several.first == "rings");
      CHECK(by_several.second < 1.1 * by_one.second / count);
    }
  }
  const auto by_one = chosen(pairs, 2, {1, {}});
  const auto by_own = chosen(pairs, 2, {2, {0, 1, 0, 1}});
  CHECK((by_own.first == "rail" || by_own.first == "halving_doubling"));  // a rail on each
  CHECK(by_own.second < 0.6 * by_one.second);
  CHECK(chosen(two, 1, {2, {0, 0}}, Collective::broadcast).first == "rings");
}

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

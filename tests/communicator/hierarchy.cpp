// Plans for machines that aren't here, run by more ranks than there are processors: which ranks are near one another changes the plan, not the result.
#include <atomic>
#include <string_view>

#include "communicator/trial.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"
#include "support/shared.hpp"

namespace {

using namespace rondo;

constexpr Collective grouped[] = {Collective::all_reduce, Collective::reduce, Collective::broadcast, Collective::reduce_scatter,
                                  Collective::all_gather, Collective::gather, Collective::scatter,   Collective::scan};

/// Which of them an algorithm serves where ranks lie in the order of their numbers, or don't.
bool serves(const std::string& algorithm, Collective collective, bool scattered) {
  if (algorithm == "hierarchical") return collective != Collective::scan || !scattered;
  if (algorithm != "rail") return collective == Collective::all_reduce;  // rail_tree and its like
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter || collective == Collective::all_gather;
}

/// Nobody leaves a barrier before all are there.
std::string meet(Communicator& communicator, const Topology& topology, std::atomic<std::uint32_t>& there) {
  const Request request{Collective::barrier, communicator.size(), 0};
  const auto plan = make_plan(topology, cost_model(topology, communicator.size()), PlanLimits{}, request, "hierarchical");
  if (!plan) return to_string(plan.error());
  if (auto used = communicator.use_plan(*plan); !used) return to_string(used.error());
  for (std::uint32_t turn = 1; turn <= 50; ++turn) {
    there.fetch_add(1);
    if (auto met = communicator.barrier(); !met) return to_string(met.error());
    if (const std::uint32_t seen = there.load(); seen < turn * communicator.size()) return "left a barrier with " + std::to_string(seen) + " arrivals";
  }
  return "";
}

/// Ranks on a machine that `description` makes up, in the order of its places or scattered over it.
Topology made_up(const std::string& description, std::uint32_t ranks, bool scattered) {
  const Topology straight = with_ranks(*read_synthetic(description), ranks);
  Topology topology = straight;
  for (std::uint32_t rank = 0; scattered && rank < ranks; ++rank) topology.ranks[rank] = straight.ranks[rank * 5 % ranks];
  return topology;
}

std::string follow_groups(Communicator& communicator, const Topology& topology, const std::string& algorithm, std::size_t levels, bool scattered) {
  const std::uint32_t root = communicator.size() - 1;
  const std::uint64_t longest = sanitized || communicator.size() > 12 ? 10'007 : 100'003;  // many pieces; each is a round of switches
  for (const Collective collective : grouped) {
    if (!serves(algorithm, collective, scattered)) continue;
    const Request request{collective, communicator.size(), 1000, DataType::f32, ReduceOp::sum, is_rooted(collective) ? root : 0, Alias::none};
    const auto plan = make_plan(topology, cost_model(topology, communicator.size()), PlanLimits{}, request, algorithm);
    if (!plan) return to_string(plan.error());
    if (plan->header.groups.size() < levels) return "a plan of " + std::to_string(plan->header.groups.size()) + " levels of groups";
    if (auto used = communicator.use_plan(*plan); !used) return to_string(used.error());
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{17}, std::uint64_t{1003}, longest})
      for (const bool in_place : {false, true})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
          const Shape shape{collective, DataType::i32, op, 0, 0, root, count};
          for (int turn = 0; turn < 2; ++turn)
            if (auto wrong = perform(communicator, Trial{shape, in_place, count + static_cast<std::uint64_t>(turn)}); !wrong.empty()) return wrong;
        }
    const Call call{collective, nullptr, nullptr, 17, DataType::i32, ReduceOp::sum, root};
    if (const auto ran = communicator.plan_for(call); !ran || ran->header.algorithm != algorithm) return "another plan ran";
  }
  return "";
}

}  // namespace

TEST_CASE("plans that follow the groups of a made-up machine give right results with more ranks than processors", "[threads]") {
  struct Case {
    const char* description;
    std::uint32_t ranks;
    bool scattered;
    std::size_t levels;
  };
  const Case cases[] = {{"package:2 core:2 pu:1", 4, false, 1},
                        {"package:2 numa:2 core:3 pu:1", 12, true, 1},
                        {"package:2 numa:2 l3:2 core:3 pu:1", 24, false, 1},
                        {"numa:8 core:4 pu:1", 32, false, 1}};
  constexpr std::uint32_t most_threads = sanitized ? 12 : 32;  // more take minutes there
  const auto run_all = [&](std::uint32_t most_ranks, const auto& run) {
    for (const Case& at : cases) {
      if (at.ranks > most_ranks) continue;
      INFO(at.description << ", " << at.ranks << " ranks" << (at.scattered ? ", scattered" : ""));
      const Topology topology = made_up(at.description, at.ranks, at.scattered);
      for (const char* algorithm : {"hierarchical", "rail", "rail_tree", "rail_halving", "rail_bine"}) {
        const std::size_t levels = algorithm == std::string_view("hierarchical") ? at.levels : 1;
        const auto body = [&](Communicator& communicator) { return follow_groups(communicator, topology, algorithm, levels, at.scattered); };
        CHECK(complaints(run(at.ranks, body)) == "");
      }
      const Shared<std::atomic<std::uint32_t>> arrivals;
      CHECK(complaints(run(at.ranks, [&](Communicator& communicator) { return meet(communicator, topology, *arrivals); })) == "");
    }
  };
  SECTION("as threads") run_all(most_threads, [](std::uint32_t ranks, const RankBody& body) { return run_threads(ranks, body); });
  SECTION("as processes") run_all(12, [](std::uint32_t ranks, const RankBody& body) { return run_processes(ranks, body); });
}

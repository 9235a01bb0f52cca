// Proofs from one rank's program against proofs from all: of the planner's plans, and of plans that are wrong in the same way on every rank.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "planner/requests.hpp"
#include "support/catch.hpp"
#include "support/plan_steps.hpp"
#include "verifier/mutants.hpp"
#include "verifier/prove.hpp"
#include "verifier/symmetry.hpp"

namespace rondo::test {
namespace {

using verifier::prove_by_symmetry;

void check_equal(const Proof& symmetric, const Proof& full) {
  CHECK(symmetric.proved());
  CHECK(full.proved());
  CHECK(symmetric.least_safe_depth == full.least_safe_depth);
  CHECK(symmetric.chunk_steps == full.chunk_steps);
  CHECK(symmetric.strictness == full.strictness);
  CHECK(symmetric.departure == full.departure);
  CHECK_FALSE(symmetric.truncated);
}

std::string key(const Plan& plan) { return plan.header.algorithm + " " + std::string(to_string(plan.header.collective)); }

/// A plan whose programs are rank 0's: rank r's names the ranks r places further, or, for an odd r of a plan that mirrors, the ranks that lie as far behind
/// r as rank 0's lie ahead of it. Written without the verifier's shifts.
class Copies {
 public:
  Copies(const PlanHeader& header, bool mirrors, bool channels) : header_(header), mirrors_(mirrors), channels_(channels) {}

  Plan of(const Program& first) {
    std::vector<Program> programs;
    for (rank_ = 0; rank_ < header_.ranks; ++rank_) {
      programs.push_back(first);
      for (Lane& lane : programs.back().lanes)
        for (Step& step : lane.steps) {
          if (step.kind == StepKind::wait) step.wait.rank = place(step.wait.rank);
          for (Operand& operand : step.sources) move(operand);
          for (Operand& operand : step.destinations) move(operand);
        }
    }
    return Plan(header_, std::move(programs));
  }

 private:
  std::uint32_t place(std::uint32_t rank) const {
    const bool back = mirrors_ && rank_ % 2 != 0;
    return (rank_ + (back ? header_.ranks - rank % header_.ranks : rank)) % header_.ranks;
  }

  void move(Operand& operand) const {
    if (operand.rank != self && operand.rank < header_.ranks) operand.rank = place(operand.rank);
    if (operand.buffer == Buffer::link && channels_ && operand.index < header_.ranks) operand.index = place(operand.index);
    const bool whole = operand.buffer == Buffer::input ? !input_is_block(header_.collective)
                                                       : operand.buffer == Buffer::output && !output_is_block(header_.collective);
    if (!whole) return;
    const std::uint32_t unit = header_.collective == Collective::all_reduce ? 1 : header_.chunks_per_block;
    const std::uint32_t owner = operand.index / unit % header_.ranks;
    operand.index = operand.index - owner * unit + place(owner) * unit;
  }

  const PlanHeader header_;
  const bool mirrors_, channels_;
  std::uint32_t rank_ = 0;
};

}  // namespace

TEST_CASE("what one rank's program proves is what all ranks' programs prove") {
  std::set<std::string> symmetric;
  for (std::uint32_t ranks = 2; ranks <= 33; ++ranks) {
    if (ranks > 17 && ranks < 30) continue;
    for_all_plans(ranks, [&](const Plan& plan, const std::string&) {
      const auto proof = prove_by_symmetry(plan);
      if (!proof) return;
      check_equal(*proof, verify_in_full(plan));
      if (ranks == 32) symmetric.insert(key(plan));
    });
  }
  const std::set<std::string> expected{
      "bine all_gather", "bine all_reduce", "bine reduce_scatter", "bruck all_to_all", "direct_one_shot all_gather", "direct_one_shot all_reduce",
      "direct_one_shot all_to_all", "direct_one_shot reduce_scatter", "direct_push all_reduce", "direct_two_shot all_reduce", "dissemination barrier",
      "hierarchical barrier", "inline all_gather", "inline all_reduce", "inline all_to_all", "inline reduce_scatter", "one_shot all_gather",
      "one_shot all_reduce", "one_shot all_to_all", "one_shot barrier", "one_shot reduce_scatter", "one_shot_streamed all_gather", "pairwise all_to_all",
      "pairwise all_to_all_v", "pat all_gather", "pat reduce_scatter", "rail all_gather", "rail all_reduce", "rail reduce_scatter", "ring all_gather",
      "ring all_reduce", "ring reduce_scatter", "rings all_gather", "rings all_reduce", "rings reduce_scatter", "two_shot all_reduce"};
  CHECK(symmetric == expected);
}

TEST_CASE("a ring along any order of the ranks is proved from one rank's program") {
  std::mt19937 random(7);
  for (const std::uint32_t ranks : {5u, 8u, 12u})
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      auto plan = plan_of(request_of(collective, ranks, 1u << 24), "ring");
      REQUIRE(plan);
      plan->header.order.resize(ranks);
      std::iota(plan->header.order.begin(), plan->header.order.end(), 0u);
      for (int turn = 0; turn < 5; ++turn) {
        std::shuffle(plan->header.order.begin(), plan->header.order.end(), random);
        const auto proof = prove_by_symmetry(*plan);
        REQUIRE(proof);
        check_equal(*proof, verify_in_full(*plan));
      }
    }
}

TEST_CASE("a rank that differs from the others isn't overlooked") {
  const auto check = [](const Plan& plan) {
    REQUIRE(prove_by_symmetry(plan));
    std::size_t wrong = 0;
    for (const Mutant& mutant : some_mutants(plan, 400, 11)) {
      if (mutant.plan.header != plan.header) continue;  // another depth is the same for all
      INFO(key(plan) << ": " << mutant.description);
      const Proof full = verify_in_full(mutant.plan);
      const auto proof = prove_by_symmetry(mutant.plan);
      if (proof) check_equal(*proof, full);
      CHECK(verify(mutant.plan).proved() == full.proved());
      if (!full.proved()) ++wrong;
    }
    CHECK(wrong > 200);
  };
  for (const char* const algorithm : {"ring", "pat", "bine", "one_shot"}) check(*plan_of(request_of(Collective::all_gather, 8, 1u << 20), algorithm));
  check(*plan_of(request_of(Collective::all_reduce, 8, 1u << 20), "one_shot"));
  check(*plan_of(request_of(Collective::all_to_all, 8, 1u << 20), "one_shot"));
  check(*plan_of(request_of(Collective::all_reduce, 8, 1u << 20), "two_shot"));
  check(lower(*plan_of(request_of(Collective::all_reduce, 8, 1u << 20), "ring")));
}

TEST_CASE("ranks that don't exist are seen before anything is shifted") {
  for (const bool ordered : {false, true})
    for (const std::uint32_t nobody : {8u, 1u << 30, self - 1}) {
      auto plan = plan_of(request_of(Collective::all_gather, 8, 1u << 20), "one_shot");
      REQUIRE(plan);
      std::vector<Program> programs;
      for (std::uint32_t rank = 0; rank < 8; ++rank) programs.push_back(plan->program(rank));
      for (Program& program : programs)
        for (Step& step : program.lanes[0].steps)
          if (step.kind == StepKind::wait) step.wait.rank = nobody;
      PlanHeader header = plan->header;
      if (ordered) header.order = {1, 0, 2, 3, 4, 5, 7, 6};
      const Plan broken(header, std::move(programs));
      CHECK_FALSE(prove_by_symmetry(broken));
      CHECK(verify(broken).violations.at(0).fault == Fault::malformed);
    }
}

TEST_CASE("what is published twice to one place isn't taken for the same in another order") {
  PlanHeader header;
  header.collective = Collective::all_gather;
  header.ranks = 4;
  header.chunks_per_block = 2;
  header.scratch_chunks = 2;
  header.depth = 1;
  const auto copy = [](const Operand& from, const Operand& to) { return Step{StepKind::copy, false, 0, {}, {from}, {to}, {}}; };
  const auto made = [&](bool odd_ranks_differ) {
    std::vector<Program> programs(4);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const auto publish = [&](std::uint32_t chunk, std::uint32_t place) {
        return copy({Buffer::input, self, chunk, 1}, {Buffer::scratch, self, place, 1});
      };
      Lane lane;
      for (std::uint32_t k = 1; k < 4; ++k) lane.steps.push_back({StepKind::wait, false, 0, {(rank + k) % 4, 0, 1, 1}, {}, {}, {}});
      const bool differs = odd_ranks_differ && rank % 2 != 0;
      for (const std::uint32_t chunk : {differs ? 1u : 0u, differs ? 0u : 1u}) lane.steps.push_back(publish(chunk, 0));
      lane.steps.push_back(publish(0, 1));
      lane.steps.push_back({StepKind::signal, false, 0, {}, {}, {}, {}});
      lane.steps.push_back(copy({Buffer::input, self, 0, 2}, {Buffer::output, self, 2 * rank, 2}));
      for (std::uint32_t k = 1; k < 4; ++k) {
        const std::uint32_t from = (rank + k) % 4;
        lane.steps.push_back({StepKind::wait, false, 0, {from, 0, 0, 0}, {}, {}, {}});
        lane.steps.push_back(copy({Buffer::scratch, from, 1, 1}, {Buffer::output, self, 2 * from, 1}));
        lane.steps.push_back(copy({Buffer::scratch, from, 0, 1}, {Buffer::output, self, 2 * from + 1, 1}));
      }
      lane.steps.push_back({StepKind::signal, false, 0, {}, {}, {}, {}});
      programs[rank].lanes.push_back(std::move(lane));
    }
    return Plan(header, std::move(programs));
  };
  CHECK(prove_by_symmetry(made(false)));
  CHECK_FALSE(verify_in_full(made(true)).proved());
  CHECK_FALSE(prove_by_symmetry(made(true)));
}

TEST_CASE("what is wrong on every rank alike is seen from one rank's program") {
  struct Kind {
    const char* algorithm;
    Collective collective;
    bool mapped, mirrors, channels;
  };
  const std::vector<Kind> kinds{{"ring", Collective::all_reduce, true, false, false},    {"ring", Collective::reduce_scatter, false, false, false},
                                {"rings", Collective::all_gather, true, false, false},   {"bruck", Collective::all_to_all, true, false, false},
                                {"pairwise", Collective::all_to_all, false, false, false}, {"pat", Collective::all_gather, true, false, true},
                                {"bine", Collective::all_reduce, true, true, true},      {"dissemination", Collective::barrier, true, false, false},
                                {"one_shot", Collective::all_gather, true, false, false}, {"direct_one_shot", Collective::all_to_all, true, false, false}};
  std::size_t lowered_plans = 0;
  for (const Kind& kind : kinds) {
    const auto plan = plan_of(request_of(kind.collective, 6, 1u << 16), kind.algorithm, kind.mapped);
    REQUIRE(plan);
    for (const bool lowered : {false, true}) {
      const Plan whole = lowered ? lower(*plan) : *plan;
      if (lowered && whole.header == plan->header) continue;
      INFO(kind.algorithm << " " << to_string(kind.collective) << (lowered ? ", lowered" : ""));
      Copies copies(whole.header, kind.mirrors, kind.channels);
      const bool symmetric = prove_by_symmetry(copies.of(whole.program(0))).has_value();
      if (lowered && !symmetric) continue;  // slots lie in the order of the peers' numbers
      REQUIRE(symmetric);
      if (lowered) ++lowered_plans;
      std::size_t wrong = 0;
      for (const Mutant& mutant : all_mutants(whole)) {
        if (!mutant.description.starts_with("rank 0,")) continue;
        INFO(mutant.description);
        Plan alike = copies.of(mutant.plan.program(0));
        const Proof full = verify_in_full(alike);
        const auto proof = prove_by_symmetry(alike);
        if (proof) check_equal(*proof, full);
        else if (full.proved()) CHECK(full.strictness != Strictness::loose);
        if (!full.proved()) ++wrong;
      }
      CHECK(wrong > 20);
    }
  }
  CHECK(lowered_plans >= 2);
}

}  // namespace rondo::test

TEST_CASE("a plan with copies that ranks share out is proved as it stands, rank by rank") {
  using namespace rondo;
  using namespace rondo::test;
  using verifier::find_symmetry;
  PlanHeader header;
  header.collective = Collective::all_gather;
  header.ranks = 2;
  header.protocol = Protocol::direct;
  header.neutral = false;
  const auto program = [](std::uint32_t rank, bool shared_out) {
    const std::uint32_t peer = 1 - rank;
    const Step fetch = copy(input(0, peer), {output(peer)});
    return Program{{{{signal(), copy(input(0), {output(rank)}), wait(peer, 0, 0), shared_out ? once(fetch, rank, 0) : fetch, signal(), wait(peer, 0, 1)}}}};
  };
  CHECK(find_symmetry(Plan(header, {program(0, false), program(1, false)})).has_value());
  CHECK(!find_symmetry(Plan(header, {program(0, true), program(1, true)})).has_value());
  CHECK(!find_symmetry(Plan(header, {program(0, false), program(1, true)})).has_value());
}

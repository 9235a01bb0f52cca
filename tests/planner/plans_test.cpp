// Every plan of every algorithm: well formed, and right in many random interleavings.
#include <algorithm>
#include <set>

#include "plan/machine.hpp"
#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// What the collective promises for one chunk of a rank's output.
Machine::Word promised(const PlanHeader& header, std::uint32_t rank, std::uint32_t chunk, std::uint32_t piece) {
  const std::uint32_t per_block = header.chunks_per_block;
  const auto sum = [&](std::uint32_t of) {
    Machine::Word total = 0;
    for (std::uint32_t q = 0; q < header.ranks; ++q) total += Machine::contribution(q, of, piece);
    return total;
  };
  const auto input_of = [&](std::uint32_t q, std::uint32_t of) { return Machine::contribution(q, of, piece); };
  switch (header.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return sum(chunk);
    case Collective::reduce_scatter:
      return sum(rank * per_block + chunk);
    case Collective::all_gather:
      return input_of(chunk / per_block, chunk % per_block);
    case Collective::all_to_all:
      return input_of(chunk / per_block, rank * per_block + chunk % per_block);
    case Collective::broadcast:
      return input_of(header.root, chunk);
    default:
      return input_of(0, chunk);
  }
}

/// Empty when all outputs are right after a run in the order that `seed` gives.
std::string fault(const Plan& plan, std::uint32_t pieces, bool in_place, std::uint64_t seed) {
  Machine machine(plan, pieces, in_place, seed);
  if (!machine.run()) return "deadlock";
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (std::uint32_t chunk = 0; has_output(plan.header, rank) && chunk < output_chunks(plan.header); ++chunk)
      for (std::uint32_t piece = 0; piece < pieces; ++piece)
        if (machine.output(rank, chunk, piece) != promised(plan.header, rank, chunk, piece))
          return "rank " + std::to_string(rank) + ", chunk " + std::to_string(chunk) + ", piece " +
                 std::to_string(piece);
  return "";
}

/// The worst of several runs; inlined plans have one piece.
std::string fault(const Plan& plan, int runs) {
  for (int seed = 0; seed < runs; ++seed)
    for (const bool in_place : {false, true}) {
      const std::uint32_t pieces =
          plan.header.protocol == Protocol::inlined ? 1 : 1 + static_cast<std::uint32_t>(seed) * 3;
      std::string found = fault(plan, pieces, in_place, static_cast<std::uint64_t>(seed));
      if (!found.empty()) return found + (in_place ? ", in place" : "") + ", seed " + std::to_string(seed);
    }
  return "";
}

}  // namespace

TEST_CASE("every plan has a good form, and so has what it is lowered to") {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 16u, 33u, 64u}) {
    int plans = 0;
    std::set<std::uint32_t> pieces;  // of trees: they grow with the message
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      ++plans;
      if (plan.header.algorithm == "tree") pieces.insert(plan.header.piece_bytes);
      INFO(name);
      const auto fine = check_form(plan);
      if (!fine) FAIL_CHECK(to_string(fine.error()));
      const auto lowered = check_form(lower(plan));
      if (!lowered) FAIL_CHECK("lowered: " + to_string(lowered.error()));
    });
    CHECK(plans >= (ranks == 1 ? 14 : 20));
    if (ranks > 2) CHECK(pieces.size() > 1);
  }
}

TEST_CASE("every plan is proved, and so is what it is lowered to") {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 16u, 33u, 64u})
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      INFO(name);
      for (const Plan& form : {plan, lower(plan)}) {
        const Proof proof = verify(form);
        for (const Violation& violation : proof.violations) FAIL_CHECK(to_string(violation));
        CHECK(proof.least_safe_depth <= plan.header.depth);
      }
    });
}

TEST_CASE("every plan does what its collective promises, whatever the order in which ranks run") {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 13u})
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      INFO(name);
      CHECK(fault(plan, 4) == "");
      CHECK(fault(lower(plan), 4) == "");
    });
}

TEST_CASE("plans of many ranks do what their collectives promise") {
  for (const std::uint32_t ranks : {33u, 64u})
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      INFO(name);
      CHECK(fault(plan, 2) == "");
    });
}

TEST_CASE("plans without credits need exactly the slots they ask for") {
  for (const char* algorithm : {"one_shot", "two_shot"}) {
    INFO(algorithm);
    auto plan = plan_of(request_of(Collective::all_reduce, 3, 1 << 20), algorithm);
    REQUIRE(plan);
    plan->header.depth -= 1;
    bool broken = false;
    for (std::uint64_t seed = 0; seed < 500 && !broken; ++seed) broken = !fault(*plan, 12, false, seed).empty();
    CHECK(broken);
  }
}

TEST_CASE("a ring follows the order of ranks in its header") {
  for (const Collective collective : all_collectives()) {
    auto plan = plan_of(request_of(collective, 5, 1 << 20, 2), "ring");
    if (!plan) continue;
    plan->header.order = {3, 0, 4, 2, 1};
    INFO(to_string(collective));
    REQUIRE(check_form(*plan));
    CHECK(fault(*plan, 3) == "");
    const Program program = plan->program(4);  // between 0 and 2
    for (const Step& step : program.lanes[0].steps) {
      for (const Operand& operand : step.sources)
        if (operand.buffer == Buffer::link) CHECK(operand.rank == 0);
      for (const Operand& operand : step.destinations)
        if (operand.buffer == Buffer::link) CHECK(operand.rank == 2);
    }
  }
}

TEST_CASE("scratch of lowered plans is what the planner reckoned with") {
  // Else pieces would be shorter than the prediction says.
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 8u, 9u, 16u})
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      if (!plan.header.neutral || plan.header.algorithm == "dissemination") return;
      INFO(name);
      const Plan lowered = lower(plan);
      PlanLimits limits = limits_of_shared_memory();
      limits.staging_bytes = std::uint64_t{64} * lowered.header.depth * lowered.header.scratch_chunks;
      const Request request = request_of(plan.header.collective, ranks, 8, plan.header.root);
      CHECK(make_plan(Topology{}, near_cores(), limits, request, plan.header.algorithm));
      limits.staging_bytes -= 1;
      CHECK_FALSE(make_plan(Topology{}, near_cores(), limits, request, plan.header.algorithm));
    });
}

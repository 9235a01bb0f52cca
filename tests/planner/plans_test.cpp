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
    const std::uint32_t end = header.collective == Collective::scan ? rank + 1 : header.ranks;
    for (std::uint32_t q = 0; q < end; ++q) total += Machine::contribution(q, of, piece);
    return total;
  };
  const auto input_of = [&](std::uint32_t q, std::uint32_t of) { return Machine::contribution(q, of, piece); };
  switch (header.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::scan:
      return sum(chunk);
    case Collective::reduce_scatter:
      return sum(rank * per_block + chunk);
    case Collective::all_gather:
    case Collective::gather:
      return input_of(chunk / per_block, chunk % per_block);
    case Collective::scatter:
      return input_of(header.root, rank * per_block + chunk);
    case Collective::all_to_all:
    case Collective::all_to_all_v:
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
      if (in_place && !plan.header.in_place) continue;
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
    if (collective == Collective::scan) continue;  // its order is that of the ranks' numbers
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
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 6u, 8u, 9u, 10u, 16u, 20u})
    for_all_plans(ranks, [&](const Plan& plan, const std::string& name) {
      if (!plan.header.neutral || plan.header.algorithm == "dissemination") return;
      INFO(name);
      const Plan lowered = lower(plan);
      PlanLimits limits = limits_of_shared_memory();
      limits.staging_bytes = std::uint64_t{64} * lowered.header.depth * lowered.header.scratch_chunks;
      const Request request = request_of(plan.header.collective, ranks, 8, plan.header.root);
      const auto mapped = plan_of(request, plan.header.algorithm);
      if (mapped && !mapped->header.neutral) return;  // those who share memory get another plan
      CostModel cost = near_cores();
      cost.levels = levels_of(plan.header.groups);
      CHECK(make_plan(Topology{}, cost, limits, request, plan.header.algorithm));
      limits.staging_bytes -= 1;
      CHECK_FALSE(make_plan(Topology{}, cost, limits, request, plan.header.algorithm));
    });
}

TEST_CASE("plans made for strict requests are proved to be strict, and those that aren't are refused by name") {
  int strict = 0, refused = 0;
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 13u, 16u, 33u})
    for (const std::string_view algorithm : algorithm_names())
      for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter, Collective::scan})
        for (const DataType type : {DataType::f32, DataType::bf16})
          for (const std::uint64_t bytes : {std::uint64_t{16}, std::uint64_t{64} << 20}) {
            Request request = request_of(collective, ranks, bytes);
            request.type = type;
            const auto loose = plan_of(request, std::string(algorithm));
            request.strict = true;
            const auto plan = plan_of(request, std::string(algorithm));
            if (!loose) continue;
            INFO(algorithm << " " << to_string(collective) << ", " << ranks << " ranks, " << to_string(type) << ", " << bytes << " bytes");
            if (!plan) {
              ++refused;
              CHECK(plan.error().detail.find("tree") + plan.error().detail.find("rounds this type") != 2 * std::string::npos);
              continue;
            }
            ++strict;
            for (const Plan& form : {*plan, lower(*plan)}) {
              const Proof proof = verify(form);
              CHECK(proof.proved());
              INFO(to_string(proof.strictness) << " " << proof.departure);
              CHECK(is_strict(proof.strictness, type));
            }
          }
  CHECK(strict > 100);
  CHECK(refused > 100);
}

TEST_CASE("the verifier says where a plan departs from the one tree") {
  const Proof ring = verify(*plan_of(request_of(Collective::all_reduce, 4, 1 << 20), "ring"));
  CHECK(ring.strictness == Strictness::loose);
  CHECK(ring.departure.find("rank ") == 0);
  CHECK(verify(*plan_of(request_of(Collective::all_reduce, 4, 1 << 20), "recursive_doubling")).strictness == Strictness::own_type);
  CHECK(verify(*plan_of(request_of(Collective::all_reduce, 4, 1 << 20), "two_shot")).strictness == Strictness::any_type);
  CHECK(verify(*plan_of(request_of(Collective::all_gather, 4, 1 << 20), "ring")).strictness == Strictness::any_type);
}

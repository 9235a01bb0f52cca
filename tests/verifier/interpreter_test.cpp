// The judge itself: right plans are right, wrong ones are wrong for the right reason.
#include <functional>

#include "support/catch.hpp"
#include "support/plan_steps.hpp"
#include "verifier/hand_plans.hpp"
#include "verifier/interpreter.hpp"
#include "verifier/mutants.hpp"

namespace rondo::test {
namespace {

using Programs = std::vector<Program>;

/// The plan with its programs (and header) changed.
Plan changed(const Plan& plan, const std::function<void(PlanHeader&, Programs&)>& change) {
  PlanHeader header = plan.header;
  Programs programs;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) programs.push_back(plan.program(rank));
  change(header, programs);
  return {header, programs};
}

Plan without(const Plan& plan, std::uint32_t rank, std::uint32_t lane, std::uint32_t step) {
  return changed(plan, [&](PlanHeader&, Programs& programs) {
    std::vector<Step>& steps = programs[rank].lanes[lane].steps;
    steps.erase(steps.begin() + step);
  });
}

Plan with_step(const Plan& plan, std::uint32_t rank, std::uint32_t step, const std::function<void(Step&)>& change) {
  return changed(plan, [&](PlanHeader&, Programs& programs) { change(programs[rank].lanes[0].steps[step]); });
}

std::string flaw_of(const Plan& plan) {
  const auto form = check_form(plan);
  return form ? to_string(judge(plan).flaw) : form.error().detail;
}

PlanHeader header_of(const Plan& plan) {
  return plan.header;
}

}  // namespace

TEST_CASE("The interpreter finds plans made by hand right, with few pieces and with many") {
  for (const auto& [name, plan] : hand_plans()) {
    INFO(name);
    CHECK(check_form(plan).has_value());
    CHECK(judge(plan).where == "");
    if (plan.header.protocol != Protocol::inlined) CHECK(judge(plan, {3, 2 * plan.header.depth + 5}).where == "");
  }
}

TEST_CASE("The interpreter finds a missing wait to be a race") {
  CHECK(flaw_of(without(one_shot(2, 1), 0, 0, 3)) == "race");            // reads a slot before it is filled
  CHECK(flaw_of(without(broadcast_slots(3, 0, 2), 0, 0, 0)) == "race");  // refills a slot before it is read
  CHECK(flaw_of(without(two_shot_direct(2), 0, 0, 1)) == "race");        // reads an input before its rank begins
  CHECK(flaw_of(without(two_shot_direct(2), 1, 0, 7)) == "race");        // may end while its output is being read
  const Plan lanes =
      changed(two_shot_lanes(2), [](PlanHeader&, Programs& programs) { programs[0].lanes[1].steps[0].after.clear(); });
  CHECK(flaw_of(lanes) == "race");
}

TEST_CASE("The interpreter finds a race whose two writers agree to be a race") {
  const Plan once = send_receive();
  const Plan twice = changed(once, [](PlanHeader& header, Programs& programs) {
    header.scratch_chunks = 1;
    programs[1].lanes[0].steps = {copy(link(0), {scratch(0)}), signal(), copy(scratch(0), {output(0)})};
    programs[1].lanes.push_back(Lane{{wait(1, 0, 0), copy(scratch(0), {output(0)})}});
  });
  CHECK(flaw_of(twice) == "race");
}

TEST_CASE("The interpreter finds credits for one slot less or more wrong where they matter") {
  const Plan broadcast = broadcast_slots(2, 0, 2);
  CHECK(flaw_of(with_step(broadcast, 0, 0, [](Step& step) { step.wait.lag = 3; })) == "race");
  CHECK(flaw_of(with_step(broadcast, 0, 0, [](Step& step) { step.wait.lag = 1; })) == "right");
  CHECK(flaw_of(with_step(broadcast, 0, 0, [](Step& step) { step.wait.lag = 0; })) == "deadlock");
  CHECK(flaw_of(changed(broadcast, [](PlanHeader& header, Programs&) { header.depth = 1; })) == "race");
  // Three pieces are under way at once, so that two slots can't do.
  const Plan shallow = changed(two_shot(2), [](PlanHeader& header, Programs& programs) {
    header.depth = 2;
    for (Program& program : programs) program.lanes[0].steps[0].wait.lag = 2;
  });
  CHECK(flaw_of(shallow) == "deadlock");
}

TEST_CASE("The interpreter finds a race that one number of pieces alone shows") {
  // The copy of piece i runs a turn late, behind the wait of piece i + 1: the last piece has no such wait behind it.
  // With more than three pieces the reader's late signals happen to order the two.
  const Plan late = changed(broadcast_slots(2, 0, 2), [](PlanHeader&, Programs& programs) {
    std::vector<Step>& writer = programs[0].lanes[0].steps;
    writer[0].wait.lag = 3;
    writer[1].skew = writer[2].skew = 1;
    programs[1].lanes[0].steps[2].skew = 1;
  });
  CHECK(judge(late, {1, 2, 4, 5}).right());
  CHECK(flaw_of(late) == "race");
}

TEST_CASE("The interpreter finds wrong sums to be wrong outputs") {
  const Plan shot = one_shot(2);
  CHECK(flaw_of(with_step(shot, 0, 4, [](Step& step) { step.finish = false; })) == "wrong output");
  CHECK(flaw_of(with_step(shot, 0, 4, [](Step& step) { step.sources.push_back(input(0)); })) == "wrong output");
  CHECK(flaw_of(with_step(ring(3, 1), 1, 1, [](Step& step) { step.sources[1].index ^= 1; })) == "wrong output");
  CHECK(flaw_of(with_step(ring(3, 1), 1, 3, [](Step& step) { step.destinations[0].index ^= 1; })) == "wrong output");
}

TEST_CASE("The interpreter finds values that never reach an output harmless") {
  const Plan plan = changed(one_shot(2), [](PlanHeader& header, Programs& programs) {
    header.scratch_chunks = 3;
    programs[0].lanes[0].steps.push_back(combine({scratch(1), input(0)}, {scratch(2)}));
  });
  CHECK(flaw_of(plan) == "right");
}

TEST_CASE("The interpreter finds messages of another size, and ones that nobody receives, unmatched") {
  const Plan spare = changed(send_receive(), [](PlanHeader&, Programs& programs) {
    programs[0].lanes[0].steps.push_back(copy(input(0), {link(1, 7)}));
  });
  CHECK(flaw_of(changed(spare, [](PlanHeader& header, Programs&) { header.depth = 64; })) == "unmatched message");
  const Plan cut = changed(chain_reduce(2, 0), [](PlanHeader&, Programs& programs) {
    programs[1].lanes[0].steps[0] = copy(input(0), {link(0)});
  });
  CHECK(flaw_of(cut) == "unmatched message");
}

TEST_CASE("The interpreter finds a link full before anyone receives to be a deadlock") {
  // Both send two messages before they receive any: one slot is too few.
  PlanHeader header = header_of(gather_slots(2));
  header.chunks_per_block = 2;
  header.depth = 2;
  const auto program = [](std::uint32_t rank) {
    const std::uint32_t peer = 1 - rank;
    return Program{{Lane{{copy(input(0), {link(peer), output(2 * rank)}), copy(input(1), {link(peer), output(2 * rank + 1)}),
                          copy(link(peer), {output(2 * peer)}), copy(link(peer), {output(2 * peer + 1)})}}}};
  };
  CHECK(flaw_of(Plan(header, Programs{program(0), program(1)})) == "right");
  header.depth = 1;
  CHECK(flaw_of(Plan(header, Programs{program(0), program(1)})) == "deadlock");
}

TEST_CASE("The interpreter finds an input that was overwritten in place, and only there") {
  const Plan plan = with_step(one_shot(2), 0, 1, [](Step& step) { step.destinations.push_back(output(0)); });
  CHECK(flaw_of(plan) == "wrong output");
  CHECK(flaw_of(changed(plan, [](PlanHeader& header, Programs&) { header.in_place = false; })) == "right");
  const Plan shifted(header_of(two_shot(2)), Programs(2, Program{{Lane{{copy(input(0), {output(1)})}}}}));
  CHECK(judge(shifted, {1}).flaw == Flaw::wrong_output);
  PlanHeader wide = header_of(two_shot(2));
  wide.chunks_per_block = 3;
  wide.out_of_place = false;
  const Plan overlapping(wide, Programs(2, Program{{Lane{{copy(input(0, self, 2), {output(1, self, 2)})}}}}));
  CHECK(judge(overlapping, {1}).flaw == Flaw::overlap_in_step);
}

TEST_CASE("The interpreter finds a barrier wrong that lets a rank end before another begins") {
  CHECK(flaw_of(without(flag_barrier(3), 1, 0, 1)) == "wrong output");
}

}  // namespace rondo::test

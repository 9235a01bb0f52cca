// insert_shadows and add_credits.
#include "machine.hpp"
#include "samples.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

bool touches_peers_buffers(const Plan& plan) {
  for (const Program& program : table(plan))
    for (const Lane& lane : program.lanes)
      for (const Step& step : lane.steps)
        for (const auto* operands : {&step.sources, &step.destinations})
          for (const Operand& operand : *operands)
            if (operand.rank != self && (operand.buffer == Buffer::input || operand.buffer == Buffer::output))
              return true;
  return false;
}

}  // namespace

TEST_CASE("shadows of a tiny direct plan are filled first and read instead of the peers' inputs") {
  const Plan plan = insert_shadows(read_peers(2));
  CHECK(plan.header.protocol == Protocol::staged);
  CHECK(plan.header.scratch_chunks == 1);
  CHECK(print(plan.program(0)) ==
        "lane 0\n"
        "wait for rank 0, lane 1, signal 0\n"
        "wait for rank 1, lane 1, signal 0\n"
        "reduce scratch[0], scratch@1[0] -> output[0] (finish)\n"
        "signal\n"
        "wait for rank 1, lane 0, signal 0\n"
        "signal\n"
        "lane 1\n"
        "wait for rank 0, lane 0, signal 1, lag 2\n"
        "wait for rank 1, lane 0, signal 1, lag 2\n"
        "copy input[0] -> scratch[0]\n"
        "signal\n");
  CHECK(form_problem(plan) == "");
}

TEST_CASE("outputs that peers write are copied out of their shadows when all writers are done") {
  const Plan plan = insert_shadows(two_shot_puts(3));
  CHECK_FALSE(touches_peers_buffers(plan));
  CHECK(form_problem(plan) == "");
  const std::string text = print(plan.program(0));
  INFO(text);
  // In place, input[c] and output[c] are one memory, so they have one shadow. Chunk 0 is rank 0's own business.
  CHECK(plan.header.scratch_chunks == 2);
  CHECK(text.find("lane 2\n"
                  "wait for rank 1, lane 0, signal 1\n"
                  "wait for rank 2, lane 0, signal 1\n"
                  "copy scratch[0:2] -> output[1:2]\n"
                  "signal\n") != std::string::npos);
}

TEST_CASE("plans with shadows give right sums, in place and not, whatever the interleaving") {
  std::string why;
  for (const std::uint32_t p : {2u, 3u, 4u})
    for (const std::uint32_t pieces : {1u, 3u, 8u}) {
      CHECK(all_reduces(insert_shadows(read_peers(p, 2)), pieces, false, why));
      INFO(why);
      for (const bool in_place : {false, true})
        CHECK(all_reduces(insert_shadows(two_shot_puts(p)), pieces, in_place, why));
    }
}

TEST_CASE("in a plan for in place alone, an output read before it is written is the input in its shadow too") {
  Plan plan = two_shot_puts(3);
  std::vector<Program> programs = table(plan);
  for (Program& program : programs)
    for (Operand& source : program.lanes[0].steps[0].sources) source.buffer = Buffer::output;
  plan.header.out_of_place = false;
  std::string why;
  CHECK(all_reduces(insert_shadows(Plan(plan.header, programs)), 4, true, why));
  INFO(why);
}

TEST_CASE("a step that touches a shadow in part takes all its chunks along") {
  Plan plan = read_peers(2, 3);
  std::vector<Program> programs = table(plan);
  Step whole = combine({input(0), input(0)}, {output(0)});
  for (auto* operands : {&whole.sources, &whole.destinations})
    for (Operand& operand : *operands) operand.count = 3;
  programs[0].lanes[0].steps = {whole, signal(), wait(1, 0, 0)};
  programs[1].lanes[0].steps = {copy(input(1, 0), {output(1)}), signal(), wait(0, 0, 0)};
  const Plan shadowed = insert_shadows(Plan(plan.header, programs));
  CHECK(shadowed.header.scratch_chunks == 3);
  CHECK(form_problem(shadowed) == "");
  CHECK(print(shadowed.program(0)).find("reduce scratch[0:3], scratch[0:3] -> output[0:3]") != std::string::npos);
}

TEST_CASE("all-gather in place has one shadow for an input chunk and its place in the output") {
  std::vector<Program> programs(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const std::uint32_t q = 1 - r;
    programs[r].lanes = {{{copy(input(0), {output(r)}), copy(input(0, q), {output(q)}), copy(output(r, q), {output(r)}),
                           signal(), wait(q, 0, 0)}}};
  }
  PlanHeader made = header(2, 1);
  made.collective = Collective::all_gather;
  made.protocol = Protocol::direct;
  const Plan shadowed = insert_shadows(Plan(made, programs));
  CHECK(form_problem(shadowed) == "");
  // Rank r: input[0] is output[r], and its peer reads output[1 − r] too: two cells.
  CHECK(shadowed.header.scratch_chunks == 2);
  CHECK(print(shadowed.program(1)).find("copy scratch@0[1] -> scratch[1]") != std::string::npos);
}

TEST_CASE("where peers' buffers have shadows, a copy that ranks share out is its word's owner's") {
  PlanHeader made = header(2, 2);
  made.collective = Collective::broadcast;
  made.protocol = Protocol::direct;
  made.neutral = false;
  std::vector<Program> programs(2);
  programs[0].lanes = {{{once(copy(input(1), {output(1, 1)}), 1, 4), once(copy(input(0), {output(0, 1)}), 0, 4)}}};
  programs[1].lanes = {{{once(copy(input(0, 0), {output(0)}), 0, 4), once(copy(input(1, 0), {output(1)}), 1, 4)}}};
  REQUIRE(form_problem(Plan(made, programs)) == "");
  const Plan shadowed = insert_shadows(Plan(made, programs));
  CHECK(form_problem(shadowed) == "");
  const auto copies = [&](std::uint32_t rank) {
    std::vector<std::string> found;
    const Program program = shadowed.program(rank);
    for (const Step& step : program.lanes[0].steps)
      if (step.kind == StepKind::copy) found.push_back(describe(step));
    return found;
  };
  CHECK(copies(0) == std::vector<std::string>{"copy scratch[0] -> scratch@1[0]"});
  CHECK(copies(1) == std::vector<std::string>{"copy scratch@0[1] -> scratch[1]"});
}

TEST_CASE("a plan that touches no peer's buffer comes back as it was") {
  const Plan plan = ring(3);
  CHECK(table(insert_shadows(plan)) == table(plan));
  CHECK(insert_shadows(plan).header == plan.header);
}

TEST_CASE("without credits a slot is overwritten before it was read; add_credits prevents it") {
  std::string why;
  for (const std::uint32_t p : {2u, 4u}) {
    const Plan plan = one_shot_without_credits(p);
    CHECK(all_reduces(plan, 1, true, why));
    CHECK_FALSE(all_reduces(plan, 9, true, why, 50));
    const Plan guarded = add_credits(plan);
    CHECK(form_problem(guarded) == "");
    CHECK(all_reduces(guarded, 9, true, why, 50));
    INFO(why);
  }
}

TEST_CASE("credits wait for the lane's end and are added once") {
  const Plan guarded = add_credits(one_shot_without_credits(2));
  CHECK(print(guarded.program(0)) ==
        "lane 0\n"
        "wait for rank 1, lane 0, signal 1, lag 1\n"
        "copy input[0] -> scratch[0]\n"
        "signal\n"
        "wait for rank 1, lane 0, signal 0\n"
        "reduce scratch[0], scratch@1[0] -> output[0] (finish)\n"
        "signal\n");
  CHECK(table(add_credits(guarded)) == table(guarded));
}

TEST_CASE("credits also hold for lanes of one rank that share scratch, and `after` keeps its step") {
  Program program;
  program.lanes.resize(2);
  program.lanes[0].steps = {copy(input(0), {scratch(0)})};
  program.lanes[1].steps = {after(copy(scratch(0), {output(0)}), 0, 0)};
  PlanHeader made = header(1, 1, 1);
  made.scratch_chunks = 1;
  const Plan plan(made, {program});
  std::string why;
  CHECK_FALSE(all_reduces(plan, 9, false, why, 50));
  const Plan guarded = add_credits(plan);
  CHECK(guarded.program(0).lanes[1].steps[0].after == Afters{{0, 1}});
  CHECK(all_reduces(guarded, 9, false, why, 50));
  CHECK(all_reduces(lower(guarded), 9, false, why, 50));
}

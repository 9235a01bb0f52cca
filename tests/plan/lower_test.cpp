#include "machine.hpp"
#include "samples.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

TEST_CASE("lowering a ring of two ranks gives these steps") {
  const Plan lowered = lower(ring(2));
  CHECK(lowered.header.scratch_chunks == 2);
  CHECK_FALSE(lowered.header.neutral);
  CHECK(print(lowered.program(0)) ==
        "lane 0\n"
        "wait for rank 1, lane 0, signal 1, lag 2\n"
        "copy input[0] -> scratch[0]\n"
        "signal\n"
        "wait for rank 1, lane 0, signal 0\n"
        "wait for rank 1, lane 0, signal 2, lag 2\n"
        "reduce scratch@1[0], input[1] -> output[1], scratch[1] (finish)\n"
        "signal\n"
        "wait for rank 1, lane 0, signal 1\n"
        "copy scratch@1[1] -> output[0]\n"
        "signal\n");
}

TEST_CASE("lowering a ring of three ranks reuses the slots of one body at depth 2") {
  const Plan lowered = lower(ring(3));
  CHECK(lowered.header.scratch_chunks == 2);
  CHECK(print(lowered.program(1)) ==
        "lane 0\n"
        "wait for rank 2, lane 0, signal 3, lag 2\n"
        "copy input[1] -> scratch[0]\n"
        "signal\n"
        "wait for rank 0, lane 0, signal 0\n"
        "wait for rank 2, lane 0, signal 4, lag 2\n"
        "reduce scratch@0[0], input[0] -> scratch[1]\n"
        "signal\n"
        "wait for rank 0, lane 0, signal 1\n"
        "wait for rank 2, lane 0, signal 1\n"
        "reduce scratch@0[1], input[2] -> output[2], scratch[0] (finish)\n"
        "signal\n"
        "wait for rank 0, lane 0, signal 2\n"
        "wait for rank 2, lane 0, signal 2\n"
        "copy scratch@0[0] -> output[1], scratch[1]\n"
        "signal\n"
        "wait for rank 0, lane 0, signal 3\n"
        "copy scratch@0[1] -> output[0]\n"
        "signal\n");
}

TEST_CASE("a lowered plan is well formed, stays lowered and keeps its own scratch in front") {
  Plan plan = ring(3, 2);
  plan.header.scratch_chunks = 5;
  plan.predicted_ns = 7;
  const Plan lowered = lower(plan);
  CHECK(lowered.header.scratch_chunks == 9);
  CHECK(lowered.predicted_ns == 7);
  CHECK(form_problem(lowered) == "");
  CHECK(table(lower(lowered)) == table(lowered));
}

TEST_CASE("rings give right sums before and after lowering, whatever the interleaving") {
  for (const std::uint32_t p : {2u, 3u, 5u})
    for (const std::uint32_t channels : {1u, 2u})
      for (const std::uint32_t depth : {2u, 3u})
        for (const std::uint32_t skew : {0u, 1u})
          for (const std::uint32_t pieces : {1u, 2u, 7u}) {
            // A skewed ring holds 2p − 2 messages a piece in flight on each link.
            const Plan plan = ring(p, channels, skew == 0 ? depth : depth + 2 * p, skew);
            std::string why;
            INFO(p << " ranks, " << channels << " channels, depth " << plan.header.depth << ", skew " << skew);
            const bool neutral = all_reduces(plan, pieces, true, why, 5);
            const bool separate = neutral && all_reduces(lower(plan), pieces, false, why, 5);
            const bool in_place = separate && all_reduces(lower(plan), pieces, true, why, 5);
            INFO(why);
            CHECK(neutral);
            CHECK(separate);
            CHECK(in_place);
          }
}

TEST_CASE("a ring whose steps receive and send at once deadlocks at depth 1, lowered or not") {
  std::string why;
  CHECK_FALSE(all_reduces(ring(3, 1, 1), 1, true, why));
  CHECK(why.substr(0, 8) == "deadlock");
  CHECK_FALSE(all_reduces(lower(ring(3, 1, 1)), 1, true, why));
  CHECK(why.substr(0, 8) == "deadlock");
}

TEST_CASE("after becomes a wait for a signal behind the named step, and own signals are renumbered") {
  Program zero, one;
  zero.lanes.resize(2);
  zero.lanes[0].steps = {copy(input(0), {scratch(0)}), copy(input(1), {scratch(1)}, 1), signal(1)};
  zero.lanes[1].steps = {after(copy(scratch(0), {output(0)}), 0, 0), after(copy(scratch(1), {output(1)}, 1), 0, 1)};
  one.lanes.resize(1);
  one.lanes[0].steps = {wait(0, 0, 0)};
  PlanHeader made = header(2, 2);
  made.scratch_chunks = 2;
  const Plan lowered = lower(Plan(made, {zero, one}));
  CHECK(print(lowered.program(0)) ==
        "lane 0\n"
        "copy input[0] -> scratch[0]\n"
        "signal\n"
        "copy input[1] -> scratch[1] (skew 1)\n"
        "signal (skew 1)\n"
        "lane 1\n"
        "wait for rank 0, lane 0, signal 0\n"
        "copy scratch[0] -> output[0]\n"
        "wait for rank 0, lane 0, signal 1 (skew 1)\n"
        "copy scratch[1] -> output[1] (skew 1)\n");
  CHECK(print(lowered.program(1)) == "lane 0\nwait for rank 0, lane 0, signal 1\n");
  CHECK(form_problem(lowered) == "");
}

TEST_CASE("a signal of another skew behind a link step doesn't stand for it") {
  Program sender, receiver;
  sender.lanes = {{{copy(input(0), {link(1)}), signal(1)}}};
  receiver.lanes = {{{copy(link(0), {output(0)}), signal()}}};
  PlanHeader made = header(2, 1);
  made.collective = Collective::send_recv;
  const Plan lowered = lower(Plan(made, {sender, receiver}));
  CHECK(print(lowered.program(0)) ==
        "lane 0\n"
        "wait for rank 1, lane 0, signal 0, lag 2\n"
        "copy input[0] -> scratch[0]\n"
        "signal\n"
        "signal (skew 1)\n");
  CHECK(print(lowered.program(1)) ==
        "lane 0\n"
        "wait for rank 0, lane 0, signal 0\n"
        "copy scratch@0[0] -> output[0]\n"
        "signal\n");
}

TEST_CASE("links are kept for message transports, and the plan stays neutral then") {
  Plan plan = ring(2);
  const Plan kept = lower(plan, true);
  CHECK(table(kept) == table(plan));
  CHECK(kept.header.neutral);
  CHECK(lower(lower(one_shot_without_credits(2)), true).header.neutral == false);
}

TEST_CASE("messages with unequal skews on one link get slots of their own, so that none waits for a later one") {
  // Message 0 of a piece leaves two turns before message 1; at depth 2 it may be three messages ahead.
  Program sender, receiver;
  sender.lanes = {{{copy(input(0), {link(1)}), copy(input(1), {link(1)}, 2)}}};
  receiver.lanes = {{{copy(link(0), {output(0)}), copy(link(0), {output(1)}, 2)}}};
  PlanHeader made = header(2, 2, 1);
  made.collective = Collective::send_recv;
  const Plan plan(made, {sender, receiver});
  const Plan lowered = lower(plan);
  CHECK(lowered.header.scratch_chunks == 2);
  for (const Plan* each : {&plan, &lowered})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Machine machine(*each, 6, false, seed);
      REQUIRE(machine.run());
      for (std::uint32_t i = 0; i < 6; ++i)
        for (std::uint32_t c = 0; c < 2; ++c) CHECK(machine.output(1, c, i) == Machine::contribution(0, c, i));
    }
}

TEST_CASE("a receive without a send waits for ever, a send without a receive doesn't") {
  Program sender, receiver;
  sender.lanes = {{{copy(input(0), {link(1)})}}};
  receiver.lanes = {{{copy(link(0), {output(0)}), copy(link(0), {output(0)})}}};
  PlanHeader made = header(2, 1);
  made.collective = Collective::send_recv;
  CHECK_FALSE(Machine(lower(Plan(made, {sender, receiver})), 1, false, 0).run());
  receiver.lanes[0].steps.clear();
  CHECK(Machine(lower(Plan(made, {sender, receiver})), 5, false, 0).run());
  receiver.lanes = {{{copy(link(7), {output(0)})}}};
  sender.lanes = {{{copy(input(0), {link(9)})}}};
  CHECK_FALSE(Machine(lower(Plan(made, {sender, receiver})), 1, false, 0).run());
}

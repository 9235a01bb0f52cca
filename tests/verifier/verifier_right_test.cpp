#include "support/catch.hpp"
#include "verifier_plans.hpp"

using namespace rondo;
using namespace rondo::verifier_test;

namespace {

void check_proved(const Draft& draft) {
  const Proof proof = draft.proof();
  INFO(text(proof));
  CHECK(proof.proved());
  CHECK(!proof.truncated);
  CHECK(proof.least_safe_depth >= 1);
  if (!draft.header.neutral || draft.header.collective == Collective::barrier) return;
  const Proof lowered = verify(lower(draft.plan()));
  INFO("lowered: " << text(lowered));
  CHECK(lowered.proved());
}

}  // namespace

TEST_CASE("the verifier proves a one-shot through scratch and a two-shot with skews") {
  check_proved(one_shot());
  check_proved(two_shot());
}

TEST_CASE("the least safe depth is one at which no piece overwrites another, not only one that blocks nobody") {
  Draft deep = two_shot();
  deep.header.depth = 6;
  const std::uint32_t least = deep.proof().least_safe_depth;
  CHECK(least > 1);
  CHECK(least < 6);
  deep.header.depth = least;
  CHECK(deep.proof().proved());
  deep.header.depth = least - 1;
  const Proof shallow = deep.proof();
  REQUIRE(!shallow.proved());
  CHECK(shallow.violations.front().fault == Fault::race);
}

TEST_CASE("the verifier proves rings of links, neutral and lowered, at several depths") {
  for (std::uint32_t p = 2; p <= 5; ++p)
    for (std::uint32_t depth = 2; depth <= 4; ++depth) check_proved(ring_of_links(p, depth));
}

TEST_CASE("the verifier proves rings of many ranks without exact sets of ranks growing") {
  Draft many = ring_of_links(70);
  check_proved(many);
  const Proof proof = many.proof();
  CHECK(proof.chunk_steps == 70u * (1 + 69 + 69));
}

TEST_CASE("the verifier proves trees, a gather in place and a barrier") {
  check_proved(broadcast_tree(7));
  check_proved(all_gather_in_place(4));
  for (std::uint32_t p = 2; p <= 9; ++p) check_proved(barrier(p));
}

TEST_CASE("the verifier proves a direct plan that waits for its peers") {
  check_proved(direct());
}

TEST_CASE("the verifier proves lanes that are ordered by after") {
  Draft lanes = two_lanes();
  const Proof proof = lanes.proof();
  INFO(text(proof));
  // The scratch slot of piece i + depth is received once lane 1 has sent that piece, so after it has reduced piece i.
  CHECK(proof.proved());
}

TEST_CASE("one rank alone copies, and its copy finishes") {
  Draft alone = draft(Collective::all_reduce, 1, 1, 0, 1);
  alone.steps(0) = {copy(input(0), {output(0)})};
  check_proved(alone);
  alone.steps(0).clear();
  CHECK(first_is(alone.proof(), Fault::postcondition, 0, -1, -1));
}

TEST_CASE("reductions of reductions need one finish on each way") {
  Draft halves = ring_of_links(2);
  check_proved(halves);
  halves.step(0, 1).finish = false;  // chunk 1 ends unfinished everywhere
  CHECK(first_is(halves.proof(), Fault::postcondition, 0, 0, 1));
}

TEST_CASE("what goes wrong and reaches no output is harmless") {
  Draft junk = draft(Collective::broadcast, 2, 1, 2, 2);
  junk.steps(0) = {copy(scratch(0), {scratch(1)}), copy(input(0), {output(0), link(1)})};
  junk.steps(1) = {copy(link(0), {output(0)})};
  check_proved(junk);
}

TEST_CASE("ranks that no chunk joins keep their contributions apart when ranks are in any order") {
  Draft shuffled = ring_of_links(5);
  shuffled.header.order = {3, 1, 4, 0, 2};  // the ring goes by rank number all the same
  check_proved(shuffled);
}

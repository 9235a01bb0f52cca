#include "support/catch.hpp"
#include "verifier_plans.hpp"

using namespace rondo;
using namespace rondo::verifier_test;

namespace {

void check_fault(const Draft& draft, Fault fault, std::int64_t rank, std::int64_t lane, std::int64_t step) {
  const Proof proof = draft.proof();
  INFO("expected " << to_string(fault) << " at " << rank << "/" << lane << "/" << step << ", is\n" << text(proof));
  CHECK(first_is(proof, fault, rank, lane, step));
}

}  // namespace

TEST_CASE("a read that waits for nobody is a race") {
  Draft broken = one_shot();
  broken.step(1, 3) = signal();  // in place of the wait; signal numbers of rank 1 change behind it
  broken.step(0, 0).wait.signal = 2;
  check_fault(broken, Fault::race, 1, 0, 4);
}

TEST_CASE("a write whose credit comes a slot too late is a race at a later piece") {
  Draft broken = staged_broadcast();
  CHECK(broken.proof().proved());
  broken.step(0, 0).wait.lag = 3;
  const Proof proof = broken.proof();
  INFO(text(proof));
  REQUIRE(proof.violations.size() == 1);
  const Violation& race = proof.violations.front();
  CHECK(race.fault == Fault::race);
  CHECK(((race.rank == 0 && race.step == 1) || (race.rank == 1 && race.step == 1)));
  CHECK(race.message.find("scratch") != std::string::npos);
}

TEST_CASE("every reader of a slot has to be waited for, whichever came last") {
  for (const std::uint32_t forgotten : {0u, 1u, 2u}) {
    Draft made = draft(Collective::broadcast, 4, 1, 1, 2);
    made.steps(0) = {wait(1, 0, 0, 2), wait(2, 0, 0, 2), wait(3, 0, 0, 2), copy(input(0), {scratch(0), output(0)}), signal()};
    for (std::uint32_t rank = 1; rank < 4; ++rank)
      made.steps(rank) = {wait(0, 0, 0), copy(scratch(0, 0), {output(0)}), signal()};
    CHECK(made.proof().proved());
    made.erase(0, forgotten);
    const Proof proof = made.proof();
    INFO("rank " << forgotten + 1 << " is forgotten: " << text(proof));
    REQUIRE(proof.violations.size() == 1);
    CHECK(proof.violations[0].fault == Fault::race);
  }
}

TEST_CASE("a link's bounded room orders no accesses, for what runs may give it more") {
  // If the link held exactly four messages, rank 0 would write a slot anew only after rank 1 had read it. Lowered, the
  // link holds eight.
  Draft made = draft(Collective::broadcast, 2, 1, 1, 4);
  made.steps(0) = {copy(input(0), {link(1)}), copy(input(0), {scratch(0)}), copy(input(0), {output(0), link(1)})};
  made.steps(1) = {copy(link(0), {scratch(0)}), copy(link(0), {scratch(0)}), copy(scratch(0, 0), {output(0)})};
  for (const Plan& plan : {made.plan(), lower(made.plan())}) {
    const Proof proof = verify(plan);
    INFO(text(proof));
    REQUIRE(proof.violations.size() == 1);
    CHECK(proof.violations[0].fault == Fault::race);
    CHECK(proof.violations[0].message.find("scratch") != std::string::npos);
  }
  // What the slots' tenants order holds in both: one message a piece, taken after the slot's last read.
  made.steps(0) = {copy(input(0), {scratch(0), output(0), link(1)})};
  made.steps(1) = {copy(link(0), {scratch(0)}), copy(scratch(0, 0), {output(0)})};
  for (const Plan& plan : {made.plan(), lower(made.plan())}) CHECK(!verify(plan).proved());  // reads after it took it
  made.steps(0) = {copy(input(0), {link(1)}), copy(input(0), {scratch(0), output(0), link(1, 1)})};
  made.steps(1) = {copy(link(0, 1), {scratch(0)}), copy(scratch(0, 0), {output(0)}), copy(link(0), {scratch(0)})};
  for (const Plan& plan : {made.plan(), lower(made.plan())}) {
    const Proof proof = verify(plan);
    INFO(text(proof));
    CHECK(proof.proved());
  }
}

TEST_CASE("where a slot's next tenant comes first, the one after it is looked at too") {
  Draft broken = draft(Collective::all_gather, 1, 1, 1, 1);
  broken.programs[0].lanes.resize(2);
  broken.steps(0, 0) = {copy(input(0), {scratch(0)}), signal(), copy(input(0), {output(0)})};
  // Writes the slot for piece i after lane 0 wrote it for piece i + 1, but maybe not before it writes it for piece i
  // + 2.
  broken.steps(0, 1) = {wait(0, 0, 0), copy(input(0), {scratch(0)}, 1)};
  broken.header.in_place = false;
  check_fault(broken, Fault::race, 0, 1, 1);
}

TEST_CASE("one slot less than the credits count on is a race") {
  Draft broken = staged_broadcast();
  broken.header.depth = 1;
  const Proof proof = broken.proof();
  REQUIRE(!proof.proved());
  CHECK(proof.violations[0].fault == Fault::race);
  Draft skewed = two_shot();
  skewed.header.depth = 2;
  CHECK(!skewed.proof().proved());
}

TEST_CASE("a slot that its own lane overwrites before it reads is a wrong value") {
  Draft broken = draft(Collective::broadcast, 2, 1, 1, 1);
  broken.steps(0) = {copy(input(0), {scratch(0), link(1)}), copy(scratch(0), {output(0)}, 1)};
  broken.steps(1) = {copy(link(0), {output(0)})};
  check_fault(broken, Fault::wrong_value, 0, 0, 1);
  broken.header.depth = 2;
  CHECK(broken.proof().proved());
}

TEST_CASE("a chunk that nobody wrote is named with its reader") {
  Draft broken = one_shot();
  broken.step(1, 1).destinations[0].index = 1;
  broken.header.scratch_chunks = 2;
  check_fault(broken, Fault::wrong_value, 0, 0, 4);
  CHECK(broken.proof().violations[0].message.find("scratch@1[0]") != std::string::npos);
}

TEST_CASE("a contribution that enters twice is named with the step where it does") {
  Draft broken = ring_of_links(3);
  broken.step(1, 2) = combine({link(0), input(2), input(2)}, {output(2), link(2)}, true);
  check_fault(broken, Fault::double_contribution, 1, 0, 2);
  Draft many = ring_of_links(80);  // more ranks than bits in a word
  many.step(7, 40).sources.push_back(many.step(7, 40).sources[1]);
  check_fault(many, Fault::double_contribution, 7, 0, 40);
}

TEST_CASE("a contribution that is left out shows where the output is written") {
  Draft broken = ring_of_links(3);
  broken.step(1, 1) = copy(link(0), {link(2)});
  const Proof proof = broken.proof();
  INFO(text(proof));
  REQUIRE(proof.violations.size() == 3);  // each rank's chunk 0; rank 2 finishes it
  CHECK(first_is(proof, Fault::postcondition, 0, 0, 3));
  CHECK(proof.violations[2].rank == 2);
  CHECK(proof.violations[2].step == 2);
}

TEST_CASE("combining different chunks is a wrong value") {
  Draft broken = ring_of_links(3);
  broken.step(1, 1).sources[1].index = 1;
  check_fault(broken, Fault::wrong_value, 1, 0, 1);
}

TEST_CASE("a value in the wrong chunk of the output is a wrong value or a broken promise") {
  Draft broken = two_shot();
  broken.step(0, 7).destinations[0].index = 0;
  check_fault(broken, Fault::wrong_value, 0, 0, 7);
  Draft gather = all_gather_in_place(3);
  gather.step(2, 1).destinations[0].index = 0;                       // whole blocks change places
  CHECK(first_is(gather.proof(), Fault::postcondition, 2, -1, -1));  // rank 1's block has no place left
}

TEST_CASE("an output that is never written is the rank's") {
  Draft broken = two_shot();
  broken.step(1, 7).destinations[0] = scratch(0);
  const Proof proof = broken.proof();
  INFO(text(proof));
  bool found = false;
  for (const Violation& violation : proof.violations)
    found |= violation.fault == Fault::postcondition && violation.rank == 1 && violation.step == -1;
  CHECK(found);
}

TEST_CASE("finishing twice and never are found") {
  Draft twice = ring_of_links(3);
  twice.step(1, 1).finish = true;
  check_fault(twice, Fault::wrong_value, 2, 0, 2);
  Draft between = ring_of_links(3);  // the third contribution is added behind the finish
  between.step(1, 1).finish = true;
  between.step(2, 2).finish = false;
  check_fault(between, Fault::wrong_value, 2, 0, 2);
  Draft copied = ring_of_links(2);
  copied.step(0, 2).finish = true;
  check_fault(copied, Fault::wrong_value, 0, 0, 2);
  Draft never = one_shot();
  never.step(1, 4).finish = false;
  check_fault(never, Fault::postcondition, 1, 0, 4);
}

TEST_CASE("a message without its receive, and one of another size, are found") {
  Draft dropped = broadcast_tree(7);
  dropped.steps(5).clear();
  check_fault(dropped, Fault::unmatched_message, 2, 0, 0);
  Draft extra = broadcast_tree(3);
  extra.steps(1).push_back(copy(link(0), {output(0)}));
  check_fault(extra, Fault::unmatched_message, 1, 0, 1);
  Draft wide = draft(Collective::broadcast, 2, 2, 0, 2);
  wide.steps(0) = {copy({Buffer::input, self, 0, 2}, {{Buffer::output, self, 0, 2}, {Buffer::link, 1, 0, 2}})};
  wide.steps(1) = {copy(link(0), {output(0)})};
  check_fault(wide, Fault::unmatched_message, 1, 0, 0);
}

TEST_CASE("messages that pass one another because of their skews are found") {
  Draft broken = draft(Collective::broadcast, 2, 2, 0, 8);
  broken.steps(0) = {copy(input(0), {output(0), link(1)}), copy(input(1), {output(1), link(1)})};
  broken.steps(1) = {copy(link(0), {output(0)}), copy(link(0), {output(1)}, 2)};
  check_fault(broken, Fault::unmatched_message, 1, 0, 0);
}

TEST_CASE("two ranks that receive before they send wait for ever") {
  Draft broken = ring_of_links(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) std::swap(broken.step(rank, 0), broken.step(rank, 2));
  const Proof proof = broken.proof();
  INFO(text(proof));
  CHECK(first_is(proof, Fault::deadlock, 0, 0, 0));
  CHECK(proof.violations[0].message.find("rank 1, lane 0, step 0") != std::string::npos);
  CHECK(proof.least_safe_depth == 0);
}

TEST_CASE("links too shallow for the plan deadlock, and the least depth that helps is told") {
  Draft deep = draft(Collective::all_reduce, 2, 3, 0, 3);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t peer = 1 - rank;
    for (std::uint32_t c = 0; c < 3; ++c) deep.steps(rank).push_back(copy(input(c), {link(peer)}));
    for (std::uint32_t c = 0; c < 3; ++c) {
      Operands sources{input(c), link(peer)};
      deep.steps(rank).push_back(combine(sources, {output(c)}, true));
    }
  }
  const Proof right = deep.proof();
  INFO(text(right));
  CHECK(right.proved());
  CHECK(right.least_safe_depth == 3);
  deep.header.depth = 2;
  const Proof proof = deep.proof();
  CHECK(first_is(proof, Fault::deadlock, 0, 0, 2));
  CHECK(proof.least_safe_depth == 3);
}

TEST_CASE("a circle of waits that closes only over several pieces is found") {
  Draft broken = one_shot();
  // Rank 0 waits for what rank 1 does a turn later, which waits for what rank 0 does a turn later.
  broken.steps(0) = {wait(1, 0, 0), signal(1)};
  broken.steps(1) = {wait(0, 0, 0), signal(1)};
  const Proof proof = broken.proof();
  INFO(text(proof));
  REQUIRE(proof.violations.size() == 1);
  CHECK(proof.violations[0].fault == Fault::deadlock);
  // Waiting one piece back breaks the circle at piece 0, but not for what comes later.
  broken.steps(0) = {wait(1, 0, 0, 1), signal(2)};
  broken.steps(1) = {wait(0, 0, 0, 1), signal(2)};
  CHECK(broken.proof().violations[0].fault == Fault::deadlock);
}

TEST_CASE("in place, an input that is read after it was overwritten is found, out of place it is right") {
  Draft broken = draft(Collective::all_reduce, 2, 1, 0, 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t peer = 1 - rank;
    broken.steps(rank) = {copy(input(0), {link(peer)}), copy(link(peer), {output(0)}),
                          combine({input(0), output(0)}, {output(0)}, true)};
  }
  broken.header.in_place = false;
  CHECK(broken.proof().proved());
  broken.header.in_place = true;
  for (Program& program : broken.programs) program.lanes[0].steps[2].destinations = {output(0)};
  const Proof proof = broken.proof();
  INFO(text(proof));
  CHECK(!proof.proved());
}

TEST_CASE("in place, a contribution read after its place holds something else is overwritten input") {
  Draft broken = ring_of_links(3);
  broken.header.scratch_chunks = 1;
  // Keeps a partial result in the output, then reads the input there once more for the next rank.
  broken.step(1, 1) = combine({link(0), input(0)}, {output(0), scratch(0)}, false);
  broken.steps(1).insert(broken.steps(1).begin() + 2, combine({input(0), scratch(0)}, {scratch(0)}, false));
  broken.steps(1).insert(broken.steps(1).begin() + 3, copy(input(0), {link(2)}));
  const Proof proof = broken.proof();
  INFO(text(proof));
  bool found = false;
  for (const Violation& violation : proof.violations)
    found |= violation.fault == Fault::overwritten_input && violation.rank == 1 && violation.step == 3;
  CHECK(found);
}

TEST_CASE("a barrier that forgets a round lets ranks out too early") {
  Draft broken = barrier(4);
  broken.erase(2, 3);  // rank 2 no longer waits for rank 0, which stands for rank 3 too
  const Proof proof = broken.proof();
  INFO(text(proof));
  REQUIRE(proof.violations.size() == 2);
  CHECK(first_is(proof, Fault::postcondition, 2, -1, -1));
  CHECK(proof.violations[0].message.find("rank 0") != std::string::npos);
  CHECK(proof.violations[1].message.find("rank 3") != std::string::npos);
}

TEST_CASE("a direct plan has to wait for its peers' begin and end") {
  Draft early = direct();
  early.erase(0, 1);
  check_fault(early, Fault::race, 0, 0, 1);
  Draft late = direct();
  late.erase(1, 4);  // rank 1 ends while rank 0 may still read its input
  check_fault(late, Fault::race, 0, 0, 2);
}

TEST_CASE("lanes of one rank that nothing orders race") {
  Draft broken = two_lanes();
  broken.step(0, 1, 1).after.clear();
  const Proof proof = broken.proof();
  INFO(text(proof));
  REQUIRE(!proof.proved());
  CHECK(proof.violations[0].fault == Fault::race);
  CHECK(proof.violations[0].rank == 0);
  Draft unguarded = two_lanes();
  unguarded.header.depth = 1;
  CHECK(unguarded.proof().proved());
  unguarded.step(0, 0, 0).after.clear();  // the slot's next tenant may come before it is read
  const Proof second = unguarded.proof();
  INFO(text(second));
  REQUIRE(!second.proved());
  CHECK(second.violations[0].fault == Fault::race);
}

TEST_CASE("reducing where nothing is to be combined is a wrong value") {
  Draft broken = all_gather_in_place(2);
  broken.step(0, 1) = combine({link(1), input(0)}, {output(1)}, false);
  check_fault(broken, Fault::wrong_value, 0, 0, 1);
}

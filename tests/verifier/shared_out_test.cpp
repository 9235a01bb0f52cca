// Copies that ranks share out (Step::once): what comes before them, and what depends on them.
#include <utility>

#include "support/catch.hpp"
#include "verifier_plans.hpp"

using namespace rondo;
using namespace rondo::verifier_test;

TEST_CASE("who depends on a copy that ranks share out comes after all that might make it") {
  Draft made = draft(Collective::broadcast, 3, 1, 0, 1);
  made.header.protocol = Protocol::direct;
  made.header.neutral = false;
  made.steps(0) = {signal(),     copy(input(0), {output(0)}), wait(1, 0, 0), once(copy(input(0), {output(0, 1)}), 1, 3), signal(), wait(1, 0, 1),
                   wait(2, 0, 0)};
  made.steps(1) = {signal(), wait(0, 0, 0), once(copy(input(0, 0), {output(0)}), 1, 3), signal(), wait(0, 0, 1), wait(2, 0, 0)};
  made.steps(2) = {wait(0, 0, 1), wait(1, 0, 1), copy(output(0, 1), {output(0)}), signal()};
  const Proof proof = made.proof();
  INFO(text(proof));
  REQUIRE(proof.proved());
  SECTION("the one") {
    made.erase(2, 0);
    CHECK(first_is(made.proof(), Fault::race, 2, 0, 1));
  }
  SECTION("and the other") {
    made.step(2, 1) = wait(1, 0, 0);
    CHECK(first_is(made.proof(), Fault::race, 2, 0, 2));
  }
  SECTION("and neither when it is made by both") {
    made.step(0, 3).once.reset();
    made.step(1, 2).once.reset();
    CHECK(made.proof().violations.at(0).fault == Fault::race);
  }
  SECTION("what one of them writes without the other's knowledge is a race all the same") {
    made.steps(2).insert(made.steps(2).begin(), {wait(1, 0, 0), copy(output(0, 1), {output(0)})});
    CHECK(made.proof().violations.at(0).fault == Fault::race);
  }
}

TEST_CASE("whoever may make a copy comes after all that is before it, not only the first who comes to it") {
  // Rank 1 has used its output for something else, or reads it, before it comes to the copy; rank 0 may come sooner.
  const bool reads = GENERATE(false, true);
  Draft made = draft(Collective::all_gather, 2, 1, 1, 1);
  made.header.protocol = Protocol::direct;
  made.header.neutral = false;
  made.steps(0) = {signal(), copy(input(0), {output(0)}), wait(1, 0, 0), once(copy(input(0), {output(0, 1)}), 1, 0), copy(input(0, 1), {output(1)}), signal(),
                   wait(1, 0, 1)};
  made.steps(1) = {signal(), reads ? copy(output(0), {scratch(0)}) : copy(input(0), {output(0)}), copy(input(0), {output(1)}), wait(0, 0, 0),
                   once(copy(input(0, 0), {output(0)}), 1, 0), signal(), wait(0, 0, 1)};
  const Proof proof = made.proof();
  INFO(text(proof));
  REQUIRE(!proof.proved());
  CHECK(proof.violations[0].fault == Fault::race);
  std::swap(made.step(1, 0), made.step(1, 1));  // signals when it has
  CHECK(made.proof().proved());
}

TEST_CASE("three ranks may share out a copy, and all have to be waited for, and to come after what is before it") {
  Draft made = draft(Collective::broadcast, 3, 1, 0, 1);
  made.header.protocol = Protocol::direct;
  made.header.neutral = false;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const Operand from = input(0, rank == 0 ? self : 0), to = output(0, rank == 1 ? self : 1);
    made.steps(rank) = {signal(), wait((rank + 1) % 3, 0, 0), wait((rank + 2) % 3, 0, 0), once(copy(from, {to}), 1, 7), signal()};
    for (const std::uint32_t peer : {(rank + 1) % 3, (rank + 2) % 3}) made.steps(rank).push_back(wait(peer, 0, 1));
  }
  made.steps(0).push_back(copy(input(0), {output(0)}));
  made.steps(2).push_back(copy(output(0, 1), {output(0)}));
  made.steps(2).push_back(signal());
  made.steps(1).push_back(wait(2, 0, 2));
  {
    const Proof proof = made.proof();
    INFO(text(proof));
    REQUIRE(proof.proved());
  }
  const std::uint32_t forgotten = GENERATE(0u, 1u);
  made.erase(2, 5 + forgotten);  // rank 2 reads what rank 0, or rank 1, may still be writing
  REQUIRE(!made.proof().proved());
  CHECK(made.proof().violations[0].fault == Fault::race);
}

TEST_CASE("a copy made later than another rank might have made it is the same copy still") {
  Draft made = draft(Collective::all_gather, 2, 1, 1, 1);
  made.header.protocol = Protocol::direct;
  made.header.neutral = false;
  // Rank 0 may copy its slot to rank 1's, then fills it anew; rank 1 copies it later, when it holds something else.
  made.steps(0) = {signal(), wait(1, 0, 0), copy(input(0), {scratch(0), output(0)}), once(copy(scratch(0), {scratch(0, 1)}), 0, 0), signal()};
  made.steps(1) = {signal(), wait(0, 0, 1), once(copy(scratch(0, 0), {scratch(0)}), 0, 0), copy(scratch(0), {output(0)}), copy(input(0), {output(1)}),
                   signal()};
  made.steps(0).insert(made.steps(0).end(), {copy(input(0, 1), {output(1)}), signal(), wait(1, 0, 1)});
  made.steps(1).insert(made.steps(1).end(), {wait(0, 0, 2)});
  made.steps(0).insert(made.steps(0).begin(), wait(1, 0, 1, 1));
  made.steps(1).insert(made.steps(1).begin(), wait(0, 0, 2, 1));
  {
    const Proof proof = made.proof();
    INFO(text(proof));
    REQUIRE(proof.proved());
  }
  made.steps(0).insert(made.steps(0).begin() + 5, copy(input(0, 1), {scratch(0)}));
  const Proof proof = made.proof();
  INFO(text(proof));
  REQUIRE(!proof.proved());
  CHECK(proof.violations[0].message.find("another rank may have made") != std::string::npos);
}

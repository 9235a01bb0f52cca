#include <memory>

#include "support/catch.hpp"
#include "verifier_plans.hpp"

using namespace rondo;
using namespace rondo::verifier_test;

TEST_CASE("a malformed plan is refused with check_form's words") {
  Draft broken = one_shot();
  broken.step(0, 4).sources[1].index = 9;
  const Proof proof = broken.proof();
  REQUIRE(proof.violations.size() == 1);
  CHECK(proof.violations[0].fault == Fault::malformed);
  CHECK(proof.violations[0].message.find("rank 0, lane 0, step 4") != std::string::npos);
}

TEST_CASE("a plan without programs is refused") {
  CHECK(!verify(Plan()).proved());
}

TEST_CASE("a plan too large to prove is refused, not tried") {
  Draft large = draft(Collective::broadcast, 2, 1, 1u << 24, 1u << 16);
  large.steps(0) = {copy(input(0), {output(0), link(1)}),
                    copy({Buffer::scratch, self, 0, 1u << 23}, {{Buffer::scratch, self, 1u << 23, 1u << 23}})};
  large.steps(1) = {copy(link(0), {output(0)})};
  const Proof proof = large.proof();
  INFO(text(proof));
  REQUIRE(proof.violations.size() == 1);
  CHECK(proof.violations[0].fault == Fault::malformed);
  CHECK(proof.violations[0].message.find("too large") != std::string::npos);
}

TEST_CASE("skews, lags and depths at their limits are answered in bounded time") {
  Draft odd = one_shot();
  odd.header.depth = 1u << 16;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    odd.step(rank, 0).wait.lag = 1u << 16;
    for (std::uint32_t s = 3; s < 6; ++s) odd.step(rank, s).skew = 1u << 16;
  }
  CHECK(!odd.proof().proved());  // piece 0 is read a turn after its slot got a new tenant
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    for (std::uint32_t s = 3; s < 6; ++s) odd.step(rank, s).skew = (1u << 16) - 1;
  const Proof proof = odd.proof();
  INFO(text(proof));
  CHECK(proof.proved());
}

TEST_CASE("many things wrong give the first few") {
  Draft broken = draft(Collective::all_reduce, 40, 1, 0, 2);
  const Proof proof = broken.proof();
  CHECK(proof.violations.size() == 16);
  CHECK(proof.truncated);
  CHECK(first_is(proof, Fault::postcondition, 0, -1, -1));
}

TEST_CASE("a violation reads as a line") {
  CHECK(to_string(Violation{Fault::race, 1, 0, 4, "x"}) == "race: rank 1, lane 0, step 4: x");
  CHECK(to_string(Violation{Fault::malformed, -1, -1, -1, "x"}) == "malformed: x");
}

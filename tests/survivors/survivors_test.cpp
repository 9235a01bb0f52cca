// The agreement of shrink(): every state and event, and runs of the simulation. Long runs: simulate_survivors.
#include "communicator/survivors.hpp"

#include <array>
#include <set>

#include "simulation.hpp"
#include "support/catch.hpp"

using rondo::Survivors;
using rondo::SurvivorWord;
using rondo::Vote;

namespace {

using State = Survivors::State;
using Event = Survivors::Event;

constexpr std::array states{State::gathering, State::meeting, State::voting, State::going_on, State::given_up};
constexpr std::array events{Event::complete,   Event::met,      Event::lost,       Event::refused,
                            Event::all_joined, Event::one_lost, Event::one_refused};

std::uint64_t word(std::uint64_t attempt, Vote vote, bool left = false) { return SurvivorWord{attempt, vote, false, left}.bits(); }

}  // namespace

TEST_CASE("every event leads from every state where the agreement says, and nowhere else") {
  std::size_t edges = 0;
  std::set<State> reached{State::gathering};
  for (const State state : states)
    for (const Event event : events)
      if (const auto to = Survivors::next(state, event)) {
        ++edges;
        reached.insert(*to);
        CHECK((state != State::going_on && state != State::given_up));  // ends
      }
  CHECK(edges == 9);
  CHECK(reached.size() == states.size());
  CHECK(Survivors::next(State::voting, Event::one_lost) == State::gathering);
  CHECK_FALSE(Survivors::next(State::voting, Event::refused));  // a vote may have been read
}

TEST_CASE("ranks that are alone go on alone") {
  Survivors rank(1, 3, 1);
  rank.saw(0, 0, true);
  CHECK(rank.missing() == "2");
  rank.saw(2, 0, false);
  CHECK(rank.state() == State::gathering);
  rank.saw(2, word(0, Vote::none, true), false);  // it destroyed its communicator
  REQUIRE(rank.state() == State::meeting);
  CHECK(rank.members() == std::vector<std::uint32_t>{1});
  rank.met();
  CHECK(rank.state() == State::going_on);
}

TEST_CASE("a rank that died after its vote has voted, and one that died before is lost") {
  for (const Vote last : {Vote::joined, Vote::entered}) {
    Survivors rank(0, 2, 1);
    rank.saw(1, word(1, Vote::entered), false);
    REQUIRE(rank.state() == State::meeting);
    rank.met();
    rank.saw(1, word(1, Vote::entered), false);
    CHECK(rank.missing() == "1");
    rank.saw(1, word(1, last), true);
    CHECK(rank.state() == (last == Vote::joined ? State::going_on : State::meeting));
    CHECK(rank.attempt() == (last == Vote::joined ? 1 : 2));  // with nobody but itself, in the second
  }
}

TEST_CASE("whatever bits a peer's word has, the agreement goes on") {
  for (const std::uint64_t bits : {~std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{1} << 63, std::uint64_t{0x17f}, std::uint64_t{0x1ff}}) {
    Survivors rank(0, 2, 1);
    rank.saw(1, bits, false);
    if (rank.state() == State::meeting) rank.met();
    CHECK(rank.state() != State::going_on);
  }
}

TEST_CASE("survivors that crash, leave, come late, refuse and hear one another late or out of order agree on who goes on") {
  for (std::uint64_t seed = 1; seed <= 50'000; ++seed) {
    const std::string wrong = survivors_test::simulate(seed);
    INFO("again, event by event: simulate_survivors " << seed << " 1");
    REQUIRE(wrong == "");
  }
}

// shrink() and grow(): those that are left go on, at once and with the right numbers.
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/shrinking.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

constexpr double shrink_seconds = 2;  // the contract, at 8 ranks

}  // namespace

TEST_CASE("survivors of a killed rank shrink to a communicator that works, within two seconds at eight ranks") {
  for (const std::uint32_t ranks : {2u, 3u, 8u}) {
    const std::uint32_t victim = ranks / 2;
    const auto body = [&](Communicator& communicator) -> std::string {
      const std::uint32_t rank = communicator.rank();
      if (rank == victim) std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        raise(SIGKILL);
      }).detach();
      const auto failed = call_until_it_fails(communicator);
      if (auto wrong = expect_error(failed, Errc::peer_failed, {"rank " + std::to_string(victim) + " ", "died"}); !wrong.empty()) return wrong;
      const auto begin = Clock::now();
      auto survivors = communicator.shrink();
      if (!survivors) return to_string(survivors.error());
      if (survivors->size() != ranks - 1 || survivors->rank() != (rank < victim ? rank : rank - 1)) return "wrong numbers";
      const float all = static_cast<float>(ranks * (ranks + 1) / 2 - (victim + 1));
      if (auto wrong = sums_to(*survivors, static_cast<float>(rank + 1), all); !wrong.empty()) return wrong;
      if (const double took = seconds_since(begin); took > shrink_seconds) return "took " + std::to_string(took) + " s";
      if (auto wrong = expect_error(communicator.barrier(), Errc::peer_failed, {"died"}); !wrong.empty()) return wrong;
      const auto again = communicator.shrink();
      return again ? "shrunk twice" : expect_error(again.error(), Errc::invalid_argument, {"shrunk before"});
    };
    auto answers = run_processes(ranks, body, {}, 30);
    INFO(ranks << " ranks");
    CHECK(answers[victim] == "ended by signal 9");
    answers[victim] = "";
    CHECK(complaints(answers) == "");
  }
}

TEST_CASE("ranks killed while others shrink are left out, or named by the new communicator's calls, and those that live end together") {
  std::mt19937 random(77);
  const int rounds = sanitized ? 10 : 40;
  for (int round = 0; round < rounds; ++round) {
    const auto ranks = static_cast<std::uint32_t>(4 + random() % 2);
    const auto delay = std::chrono::microseconds(random() % 40'000);
    const auto other = static_cast<std::uint32_t>(random() % (ranks - 1));
    const auto body = [&](Communicator& communicator) { return shrinks_while_another_dies(communicator, ranks - 1, other, delay); };
    auto answers = run_processes(ranks, body, {}, 30);
    INFO("round " << round << ": " << ranks << " ranks, rank " << other << " killed after " << delay.count() << " us");
    REQUIRE(answers[ranks - 1] == "ended by signal 9");
    REQUIRE(answers[other] == "ended by signal 9");
    answers[ranks - 1] = answers[other] = "";
    REQUIRE(complaints(answers) == "");
  }
}

TEST_CASE("ranks that left aren't waited for, and threads shrink as processes do", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() == 1) {
      const Communicator gone = std::move(communicator);
      return "";
    }
    auto survivors = communicator.shrink();
    if (!survivors) return to_string(survivors.error());
    if (survivors->size() != 2) return "wrong size";
    return sums_to(*survivors, static_cast<float>(communicator.rank() + 1), 4);
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("a communicator that nobody left shrinks to all its ranks, again and again, and to as much memory as before", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<Communicator> last;
    const auto pieces = [](Communicator& of) -> std::string {
      auto plan = of.plan_for(Call{Collective::all_reduce, nullptr, nullptr, 1 << 20, DataType::f32});
      return plan ? to_string(plan->header.collective).data() + std::to_string(plan->header.depth) : to_string(plan.error());
    };
    const std::string before = pieces(communicator);
    last.push_back(std::move(communicator));
    for (int round = 0; round < 20; ++round) {
      auto next = last.back().shrink();
      if (!next) return "round " + std::to_string(round) + ": " + to_string(next.error());
      last.back() = std::move(*next);
      if (auto wrong = sums_to(last.back(), 1, 2); !wrong.empty()) return wrong;
    }
    return pieces(last.back()) == before ? "" : "pieces were " + before + " and are " + pieces(last.back());
  };
  // Its pieces are of one size whatever latency a probe has found: how many slots they have is up to the memory alone.
  SECTION("as threads") CHECK(complaints(run_threads(2, body, forced("ring"))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, forced("ring"))) == "");
}

TEST_CASE("ranks in a call learn who shrinks their communicator, and shrink it, too") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() != 0)
      if (auto wrong = expect_error(call_until_it_fails(communicator), Errc::peer_failed, {"rank 0 ", "called shrink()"}); !wrong.empty()) return wrong;
    auto same = communicator.shrink();
    if (!same) return to_string(same.error());
    return sums_to(*same, 1, 3);
  };
  CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("a rank that neither shrinks nor goes is named at the deadline, and shrinking works when it comes") {
  CommunicatorOptions options;
  options.bootstrap_timeout = std::chrono::milliseconds(1000);
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    } else if (const auto first = communicator.shrink(); first) {
      return "it shrank without rank 2";
    } else if (first.error().code == Errc::deadline_exceeded) {  // the others hear that the first one gave up
      if (auto wrong = expect_error(first.error(), Errc::deadline_exceeded, {"no sign of rank 2"}); !wrong.empty()) return wrong;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    } else {
      if (auto wrong = expect_error(first.error(), Errc::peer_failed, {"gave up"}); !wrong.empty()) return wrong;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    auto all = communicator.shrink();
    if (communicator.rank() == 2 && !all) all = communicator.shrink();  // its first attempt is the others' first, in which they had given up
    if (!all) return to_string(all.error());
    return sums_to(*all, 1, 3);
  };
  CHECK(complaints(run_processes(3, body, options)) == "");
}

TEST_CASE("split communicators shrink by themselves, while their parent goes on") {
  const auto body = [](Communicator& communicator) -> std::string {
    auto halves = communicator.split(static_cast<std::int32_t>(communicator.rank() % 2));
    if (!halves) return to_string(halves.error());
    std::optional<Communicator> half = std::move(**halves);
    if (communicator.rank() == 2) half.reset();  // and stays in the parent
    if (half) {
      auto rest = half->shrink();
      if (!rest) return to_string(rest.error());
      const bool even = communicator.rank() % 2 == 0;
      if (auto wrong = sums_to(*rest, 1, even ? 2 : 3); !wrong.empty()) return wrong;
    }
    return sums_to(communicator, 1, 6);
  };
  CHECK(complaints(run_processes(6, body)) == "");
}

TEST_CASE("a newcomer takes the place of a rank that died") {
  const std::string job = fresh_job(), grown_job = fresh_job();
  const auto old_rank = [&](std::uint32_t rank) {
    return [&, rank]() -> std::string {
      auto communicator = Communicator::local(rank, 3, job);
      if (!communicator) return to_string(communicator.error());
      if (rank == 1) raise(SIGKILL);
      (void)call_until_it_fails(*communicator);
      auto survivors = communicator->shrink();
      if (!survivors) return to_string(survivors.error());
      auto grown = survivors->grow(3, grown_job);
      if (!grown) return to_string(grown.error());
      if (auto wrong = sums_to(*grown, 1, 3); !wrong.empty()) return wrong;
      return sums_to(*survivors, 1, 2);  // it is still there
    };
  };
  const auto newcomer = [&]() -> std::string {
    auto grown = Communicator::local(2, 3, grown_job);
    return grown ? sums_to(*grown, 1, 3) : to_string(grown.error());
  };
  auto answers = run_children({old_rank(0), old_rank(1), old_rank(2), newcomer}, 30);
  CHECK(answers[1] == "ended by signal 9");
  answers[1] = "";
  CHECK(complaints(answers) == "");
}

TEST_CASE("a rank that has gone ends its communicator's growth at once, and fewer ranks than there are is an error") {
  const std::string grown_job = fresh_job();
  const auto body = [&](Communicator& communicator) -> std::string {
    if (communicator.rank() == 2) raise(SIGKILL);
    const auto fewer = communicator.grow(3, grown_job);
    if (fewer) return "it grew to what it was";
    if (auto wrong = expect_error(fewer.error(), Errc::invalid_argument, {"grow to 3 ranks; accepted: more than the 3"}); !wrong.empty()) return wrong;
    const auto begin = Clock::now();
    const auto grown = communicator.grow(4, grown_job);
    if (grown) return "it grew with a dead rank";
    if (const double took = seconds_since(begin); took > 1.5) return "took " + std::to_string(took) + " s";
    return expect_error(grown.error(), Errc::peer_failed, {"rank 2 has gone"});
  };
  auto answers = run_processes(3, body, {}, 30);
  CHECK(answers[2] == "ended by signal 9");
  answers[2] = "";
  CHECK(complaints(answers) == "");
}

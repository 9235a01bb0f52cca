// Jobs whose rounds go by a tree of ranks.
#include <signal.h>

#include <thread>

#include "deadline.hpp"
#include "places.hpp"
#include "strangers.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sleep.hpp"

namespace {

using namespace rondo;

}  // namespace

TEST_CASE("two hundred ranks that come at once are all taken in, more than may be strangers at a time, and go through rounds") {
  constexpr std::uint32_t ranks = 200;
  for (const std::uint32_t fan_out : {3u, usual_fan_out, ranks}) {
    INFO("fan-out " << fan_out);
    const MeetingPlace place = fresh_place();
    const auto body = [&]() -> std::string {
      std::vector<std::string> answers(ranks);
      std::vector<std::thread> threads;
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
          auto bootstrap = make_network_bootstrap(rank, ranks, place, deadline_in(20), {}, {}, fan_out);
          if (!bootstrap) answers[rank] = to_string(bootstrap.error());
          for (int round = 0; round < 3 && answers[rank].empty(); ++round) answers[rank] = exchange(**bootstrap, rank, ranks, 20);
        });
      for (std::thread& thread : threads) thread.join();
      return complaints(answers);
    };
    CHECK(complaints(run_children({body}, 60)) == "");
  }
}

TEST_CASE("a rank that dies or stops in a tree of ranks is named to all others") {
  constexpr std::uint32_t ranks = 9;
  for (const std::uint32_t victim : {0u, 1u, 2u, 8u})  // of a tree that is 1, 2, 5 / 3, 4, 6, ...
    for (const bool dies : {true, false}) {
      INFO("rank " << victim << (dies ? " dies" : " stops"));
      const MeetingPlace place = fresh_place();
      const double patience = dies ? 20 : 1.5;
      const std::vector<std::string> words{dies ? "peer_failed" : "deadline_exceeded", "rank " + std::to_string(victim) + " ", dies ? "went away" : "in time"};
      const auto body = [&](std::uint32_t rank) -> ChildBody {
        return [&, rank]() -> std::string {
          auto bootstrap = make_network_bootstrap(rank, ranks, place, deadline_in(20), {}, {}, 2);
          if (!bootstrap) return to_string(bootstrap.error());
          if (const std::string wrong = exchange(**bootstrap, rank, ranks, 20); !wrong.empty()) return wrong;
          if (rank == victim) sleep_ms(300);
          if (rank == victim) raise(dies ? SIGKILL : SIGSTOP);
          return expect_words(exchange(**bootstrap, rank, ranks, patience), words, Clock::now(), 3);
        };
      };
      std::vector<Child> children;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) children.push_back(start_child(body(rank)));
      std::vector<std::string> answers;
      const auto deadline = Clock::now() + std::chrono::seconds(10);
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (rank != victim) answers.push_back(answer_of(children[rank], deadline));
      kill(children[victim].process, SIGKILL);
      (void)answer_of(children[victim], deadline);
      CHECK(complaints(answers) == "");
    }
}

TEST_CASE("a rank that dies or stops before it has reached its parent in the tree is named to all others") {
  constexpr std::uint32_t ranks = 7;
  for (const bool dies : {true, false}) {
    INFO((dies ? "it dies" : "it stops"));
    const MeetingPlace place = fresh_place();
    const double patience = dies ? 20 : 1.5;
    const std::vector<std::string> words{dies ? "peer_failed" : "deadline_exceeded", "rank 2 "};
    std::vector<Child> children;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      children.push_back(start_child([&, rank]() -> std::string {
        if (rank != 2) return expect_words(meet_at(rank, ranks, place, patience, 2), words, Clock::now(), 5);
        // It meets, and takes part in nothing.
        auto first = come_to_network(rank, ranks, 0, place, deadline_in(20), {}, {});
        if (!first) return to_string(first.error());
        sleep_ms(300);
        raise(dies ? SIGKILL : SIGSTOP);
        return "";
      }));
    std::vector<std::string> answers;
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (rank != 2) answers.push_back(answer_of(children[rank], deadline));
    kill(children[2].process, SIGKILL);
    (void)answer_of(children[2], deadline);
    CHECK(complaints(answers) == "");
  }
}

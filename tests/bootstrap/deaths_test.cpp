// A rank that is killed while ranks find one another is named to every survivor within a second.
#include <signal.h>

#include <functional>
#include <random>
#include <thread>

#include "communicator/create.hpp"
#include "rondo/communicator.hpp"
#include "strangers.hpp"
#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sleep.hpp"

namespace {

using namespace rondo;

constexpr int life_ms = 300;  // of the victim: all who come in time are there by then
constexpr int rank_0s_life_ms = 1000;  // whoever comes after its end waits for it in vain
constexpr double notice_seconds = life_ms / 1000.0 + 1;

ChildBody survivor(std::uint32_t rank, std::uint32_t size, const std::string& job, const std::vector<std::string>& words,
                   double bound_seconds = notice_seconds) {
  return [=]() -> std::string {
    const auto begin = Clock::now();
    return expect_words(meet(rank, size, job), words, begin, bound_seconds);
  };
}

/// A bootstrap whose process dies at its `moment`th: before its first round, after it, before its second, ...
class Fatal final : public Bootstrap {
 public:
  Fatal(Bootstrap& real, int moment, const Death& death) : real_(real), moment_(moment), death_(death) {}
  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override {
    if (moment_-- == 0) death_.come();
    auto all = real_.all_gather(own, deadline_ns);
    if (moment_-- == 0) death_.come();
    return all;
  }

 private:
  Bootstrap& real_;
  int moment_;
  const Death& death_;
};

/// A bootstrap that does something when its `round`th round is over; what that fails with the round does.
class Interrupted final : public Bootstrap {
 public:
  Interrupted(Bootstrap& real, int round, std::function<Result<void>()> what) : real_(real), round_(round), what_(std::move(what)) {}
  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override {
    auto all = real_.all_gather(own, deadline_ns);
    if (--round_ != 0) return all;
    const auto done = what_();
    return done ? std::move(all) : done.error();
  }

 private:
  Bootstrap& real_;
  int round_;
  std::function<Result<void>()> what_;
};

constexpr std::uint32_t job_size = 3, victims_rank = 1;
constexpr int last_round = 5;

/// What a rank gets that is told of nothing in its creation, and then calls.
std::string create_and_call(const Topology& view, std::uint32_t rank, const std::string& job, const std::function<Result<void>()>& after_last_round) {
  const auto real = connect_rank(rank, job_size, job);
  if (!real) return to_string(real.error());
  Interrupted bootstrap(**real, last_round, after_last_round);
  auto parts = join(bootstrap, rank, job_size, CommunicatorOptions{}, view, 1);
  if (!parts) return to_string(parts.error());
  Communicator communicator = Assembly::of(std::move(*parts));
  const auto met = communicator.barrier();
  return met ? "it met a dead one" : to_string(met.error());
}

/// Creates rank 1 until it dies.
std::string create_and_die(const Topology& view, const std::string& job, const Death& death, int moment, std::chrono::microseconds delay) {
  const auto real = connect_rank(victims_rank, job_size, job);
  if (!real) return to_string(real.error());
  std::thread killer;
  if (moment < 0) killer = std::thread([&] {
    std::this_thread::sleep_for(delay);
    death.come();
  });
  Fatal fatal(**real, moment, death);
  const auto parts = join(fatal, victims_rank, job_size, CommunicatorOptions{}, view, 1);
  if (killer.joinable()) killer.join();
  return "it outlived its creation";
}

std::string create_and_see(const Topology& view, std::uint32_t rank, const std::string& job, const Death& death, bool may_work) {
  const auto real = connect_rank(rank, job_size, job);
  const auto parts = real ? join(**real, rank, job_size, CommunicatorOptions{}, view, 1) : real.error();
  if (parts) return may_work ? "" : "it was created";
  const std::string text = to_string(parts.error());
  if (const double took = static_cast<double>(death.passed_ns()) / 1e9; took > 1) return "took " + std::to_string(took) + " s: " + text;
  return expect_words(text, {"peer_failed", "rank 1 "}, Clock::now(), 1);
}

/// "" when both survivors learn within a second who it was. `may_work`: the victim may have died when creation was over.
std::string kill_in_creation(const Topology& view, int moment, std::chrono::microseconds delay, bool may_work) {
  const Death death;
  const std::string job = fresh_job();
  const auto survive = [&](std::uint32_t rank) { return [&, rank] { return create_and_see(view, rank, job, death, may_work); }; };
  const auto answers = run_children({survive(0), [&] { return create_and_die(view, job, death, moment, delay); }, survive(2)}, 20);
  return complaints({answers[0], answers[1] == "ended by signal 9" ? "" : answers[1], answers[2]});
}

}  // namespace

TEST_CASE("a rank killed while others haven't come yet is named to all who are there within a second") {
  const std::string job = fresh_job();
  const std::vector<std::string> words{"peer_failed", "rank 1 (process", "went away during bootstrap"};
  const auto victim = [&]() -> std::string {
    const auto bootstrap = connect_rank(1, 4, job);
    sleep_ms(life_ms);
    raise(SIGKILL);
    return "";
  };
  // rank 3 never comes
  const auto answers = run_children({survivor(0, 4, job, words), victim, survivor(2, 4, job, words)}, 20);
  CHECK(answers[1] == "ended by signal 9");
  CHECK(complaints({answers[0], answers[2]}) == "");
}

TEST_CASE("a rank killed after it gave what it had is named to those who wait for another, within a second") {
  for (const int rounds_before : {0, 2}) {
    INFO("after " << rounds_before << " rounds");
    const std::string job = fresh_job();
    const std::vector<std::string> words{"peer_failed", "rank 1 (process", "went away during bootstrap"};
    const auto rank_body = [&](std::uint32_t rank) {
      return [&, rank]() -> std::string {
        const auto bootstrap = connect_rank(rank, 4, job);
        if (!bootstrap) return to_string(bootstrap.error());
        for (int round = 0; round < rounds_before; ++round)
          if (const std::string wrong = exchange(**bootstrap, rank, 4); !wrong.empty()) return wrong;
        const auto begin = Clock::now();
        if (rank == 1) std::thread([] {
          sleep_ms(life_ms);
          raise(SIGKILL);
        }).detach();
        if (rank == 3) sleep_ms(1800);  // all wait for this one, which finds the answer there
        return expect_words(exchange(**bootstrap, rank, 4), words, begin, rank == 3 ? 2.3 : notice_seconds);
      };
    };
    auto answers = run_children({rank_body(0), rank_body(1), rank_body(2), rank_body(3)}, 20);
    CHECK(answers[1] == "ended by signal 9");
    answers[1] = "";
    CHECK(complaints(answers) == "");
  }
}

TEST_CASE("when rank 0 is killed every other rank learns it within a second") {
  const std::string job = fresh_job();
  const std::vector<std::string> words{"peer_failed", "rank 0 (process", "went away during bootstrap"};
  const auto victim = [&]() -> std::string {
    std::thread([] {
      sleep_ms(rank_0s_life_ms);
      raise(SIGKILL);
    }).detach();
    return meet(0, 4, job);
  };
  constexpr double bound_seconds = rank_0s_life_ms / 1000.0 + 1;
  const auto answers = run_children({victim, survivor(1, 4, job, words, bound_seconds), survivor(2, 4, job, words, bound_seconds)}, 20);
  CHECK(answers[0] == "ended by signal 9");
  CHECK(complaints({answers[1], answers[2]}) == "");
}

TEST_CASE("a rank killed before or after any round of creation is named to all within a second") {
  const auto view = discover_topology();
  REQUIRE(view.has_value());
  for (int moment = 0; moment < 2 * last_round; ++moment) {
    INFO("moment " << moment);
    CHECK(kill_in_creation(*view, moment, {}, moment == 2 * last_round - 1) == "");
  }
}

TEST_CASE("a rank killed at any moment of creation is named to all within a second") {
  const auto view = discover_topology();
  REQUIRE(view.has_value());
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const auto delay = std::chrono::microseconds(random() % 5'000);
    INFO("killed after " << delay.count() << " us");
    CHECK(kill_in_creation(*view, -1, delay, true) == "");
  }
}

TEST_CASE("a rank that comes a moment after another was killed learns of it") {
  const std::string job = fresh_job();
  const std::vector<std::string> words{"peer_failed", "rank 1 (process", "went away during bootstrap"};
  const auto victim = [&]() -> std::string {
    const auto bootstrap = connect_rank(1, 3, job);
    raise(SIGKILL);
    return "";
  };
  const auto late = [&]() -> std::string {
    sleep_ms(100);  // rank 0 tells those that come within half a second
    return survivor(2, 3, job, words)();
  };
  const auto answers = run_children({survivor(0, 3, job, words), victim, late}, 20);
  CHECK(complaints({answers[0], answers[2]}) == "");
}

TEST_CASE("a rank found dead when creation is over for some is named to them by those for whom it came to nothing") {
  const auto view = discover_topology();
  REQUIRE(view.has_value());
  const std::string job = fresh_job();
  const std::vector<std::string> words{"peer_failed", "rank 2 (process", "went away during bootstrap"};
  // Rank 0 takes another for dead when all have what they need; that one does nothing, so that rank 1, which has gone on, learns it from rank 0.
  const auto find_dead = []() -> Result<void> {
    sleep_ms(life_ms);
    return Error{Errc::peer_failed, "rank 2 (process of a test) went away during bootstrap", 0, "bootstrap"};
  };
  const auto survive = [&](std::uint32_t rank) {
    return [&, rank] {
      const auto after = [&]() -> Result<void> { return rank == 0 ? find_dead() : Result<void>(); };
      return expect_words(create_and_call(*view, rank, job, after), words, Clock::now(), 1);
    };
  };
  const auto stay = [&] {
    return create_and_call(*view, 2, job, []() -> Result<void> {
      sleep_ms(3 * life_ms);
      return {};
    });
  };
  const auto answers = run_children({survive(0), survive(1), stay}, 20);
  CHECK(complaints({answers[0], answers[1]}) == "");
}

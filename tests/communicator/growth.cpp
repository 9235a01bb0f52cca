// Processes that make communicators all day, and whose peers die all day, are in the end as large as in the beginning.
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "base/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "communicator/create.hpp"
#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/footprint.hpp"
#include "support/ranks.hpp"
#include "support/shared.hpp"

namespace {

using namespace rondo;

constexpr int most_rounds = 20'000, most_seconds = 1200;
constexpr std::int64_t patience_ns = 60'000'000'000;
constexpr std::uint64_t reduced_count = 50'000;
constexpr int rounds_a_look = 20;  // at the machine: that takes longer than all else, so most rounds know it already

/// What each process had when it was warm and in the end, and how many rounds came between.
struct Growth {
  Footprint before[3], after[3];
};

/// Calls of every kind. What is right is checked.
std::string use(Communicator& communicator) {
  std::vector<float> values(reduced_count, 1), other(10, 1);
  Work work = communicator.start(Call{Collective::all_reduce, values.data(), values.data(), reduced_count, DataType::f32, ReduceOp::sum});
  auto done = work.wait();
  if (done) done = around_the_ring(communicator, values.data(), other.data(), other.size());
  if (done) {
    auto split = communicator.split(0);
    done = split ? (*split)->all_reduce(other.data(), other.data(), other.size(), DataType::f32) : split.error();
  }
  if (!done) return to_string(done.error());
  const auto size = static_cast<float>(communicator.size());
  return values[reduced_count - 1] == size && other[9] == size * size ? "" : "a wrong number";
}

/// Does `round` so many times. A twentieth of them warms up: what a process makes once, it has by then.
std::string repeat(int rounds, Footprint& before, Footprint& after, const std::function<std::string(int)>& round) {
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 20 + 2) before = footprint();
    if (const std::string wrong = round(i); !wrong.empty()) return "round " + std::to_string(i) + ": " + wrong;
  }
  after = footprint();
  return growth(before, after);
}

void report(const char* what, int rounds, const Growth& growth) {
  std::printf("%d %s: %s\n", rounds, what, describe_change(growth.before[0], growth.after[0]).c_str());
}

Result<Communicator> create(Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t size, const Topology& view, std::uint32_t ranks_here = 1) {
  auto parts = join(bootstrap, rank, size, CommunicatorOptions(), view, ranks_here);
  if (!parts) return parts.error();
  return Assembly::of(std::move(*parts));
}

std::string use_as_threads(const Topology& view) {
  auto ends = make_in_process_bootstrap(2);
  std::vector<std::string> answers(2);
  const auto body = [&](std::uint32_t rank) {
    auto made = create(*ends[rank], rank, 2, view, 2);
    answers[rank] = made ? use(*made) : to_string(made.error());
  };
  std::thread other([&] { body(1); });
  body(0);
  other.join();
  return complaints(answers);
}

void cycle_as_threads(int rounds) {
  const auto view = discover_topology();
  REQUIRE(view.has_value());
  const Shared<Growth> growth;
  const auto round = [&](int number) -> std::string {
    if (number % rounds_a_look != 0) return use_as_threads(*view);
    auto made = Communicator::in_process(2);
    return made ? complaints(run_each(*made, use)) : to_string(made.error());
  };
  CHECK(complaints(run_children({[&] { return repeat(rounds, growth->before[0], growth->after[0], round); }}, most_seconds)) == "");
  report("communicators of two threads", rounds, *growth);
}

void cycle_as_processes(int rounds) {
  const auto view = discover_topology();
  REQUIRE(view.has_value());
  const Shared<Growth> growth;
  const std::string jobs = fresh_job() + "/";
  const auto make = [&](std::uint32_t rank, int number) -> Result<Communicator> {
    const std::string job = jobs + std::to_string(number);
    if (number % rounds_a_look == 0) return Communicator::local(rank, 2, job);
    auto bootstrap = make_local_bootstrap(rank, 2, job, now_ns() + patience_ns);
    return bootstrap ? create(**bootstrap, rank, 2, *view) : bootstrap.error();
  };
  const auto body = [&](std::uint32_t rank) {
    return [&, rank] {
      return repeat(rounds, growth->before[rank], growth->after[rank], [&](int number) -> std::string {
        auto made = make(rank, number);
        return made ? use(*made) : to_string(made.error());
      });
    };
  };
  CHECK(complaints(run_children({body(0), body(1)}, most_seconds)) == "");
  CHECK(names_with(jobs) == 0);
  report("communicators of two processes", rounds, *growth);
}

/// When the victims died.
using Deaths = std::array<std::atomic<std::int64_t>, most_rounds>;

/// Rank 1: dies some time after it met the others, in its creation or in its calls.
std::string die(const std::string& job, const Topology& view, std::chrono::microseconds delay, std::atomic<std::int64_t>& death) {
  auto bootstrap = make_local_bootstrap(1, 3, job, now_ns() + patience_ns);
  if (!bootstrap) return to_string(bootstrap.error());
  std::thread killer([&death, delay] {
    std::this_thread::sleep_for(delay);
    death = now_ns();
    raise(SIGKILL);
  });
  auto made = create(**bootstrap, 1, 3, view);
  std::string wrong = made ? "" : to_string(made.error());
  while (wrong.empty()) wrong = use(*made);
  killer.join();
  return wrong;
}

std::string outlive(std::uint32_t rank, const std::string& job, const Topology& view, std::atomic<std::int64_t>& death, std::atomic<std::int64_t>& worst_ns) {
  std::string error;
  {
    auto bootstrap = make_local_bootstrap(rank, 3, job, now_ns() + patience_ns);
    auto made = bootstrap ? create(**bootstrap, rank, 3, view) : bootstrap.error();
    error = made ? "" : to_string(made.error());
    while (error.empty()) error = use(*made);
  }
  const std::int64_t passed_ns = now_ns() - death;
  for (const char* word : {"peer_failed", "rank 1 "})
    if (error.find(word) == std::string::npos) return std::string("'") + word + "' is missing in: " + error;
  worst_ns = std::max<std::int64_t>(worst_ns, passed_ns);
  return passed_ns < death_bound_ns ? "" : "left " + std::to_string(passed_ns / 1'000'000) + " ms after the death: " + error;
}

void kill_peers(int rounds) {
  const auto view = discover_topology();
  REQUIRE(view.has_value());
  const std::string job = fresh_job();
  const Shared<Growth> growth;
  const Shared<Deaths> deaths;
  const Shared<std::atomic<std::int64_t>> worst_ns;
  const auto job_of = [&](int round) { return job + "/" + std::to_string(round); };
  const auto survivor = [&](std::uint32_t rank) {
    return [&, rank]() -> std::string {
      // The first deaths may all come before a process has made what it makes once.
      if (auto warm = Communicator::local(rank / 2, 2, job + "/warm"); !warm) return to_string(warm.error());
      else if (const std::string wrong = use(*warm); !wrong.empty()) return wrong;
      return repeat(rounds, growth->before[rank], growth->after[rank],
                    [&](int round) { return outlive(rank, job_of(round), *view, (*deaths)[static_cast<std::size_t>(round)], *worst_ns); });
    };
  };
  const Child first = start_child(survivor(0)), last = start_child(survivor(2));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(most_seconds);
  std::mt19937 random(20'262);
  for (int round = 0; round < rounds; ++round) {
    const auto delay = std::chrono::microseconds(random() % 12'000);
    const Child victim = start_child([&] { return die(job_of(round), *view, delay, (*deaths)[static_cast<std::size_t>(round)]); });
    const std::string answer = answer_of(victim, std::chrono::steady_clock::now() + std::chrono::seconds(30));
    CHECK(answer == "ended by signal 9");
    if (answer != "ended by signal 9") break;
  }
  CHECK(complaints({answer_of(first, deadline), answer_of(last, deadline)}) == "");
  CHECK(names_with(job + "/") == 0);
  report("kills at random moments", rounds, *growth);
  std::printf("the last survivor had left %d ms after the death\n", static_cast<int>(worst_ns->load() / 1'000'000));
}

}  // namespace

TEST_CASE("communicators that come and go, and peers that die, leave a process as large as it was") {
  SECTION("threads") cycle_as_threads(sanitized ? 60 : 250);
  SECTION("processes") cycle_as_processes(sanitized ? 60 : 250);
  SECTION("kills") kill_peers(sanitized ? 30 : 60);
}

TEST_CASE("10,000 communicators that come and go, and 1,000 peers that die, leave a process as large as it was", "[.soak]") {
  SECTION("threads") cycle_as_threads(10'000);
  SECTION("processes") cycle_as_processes(10'000);
  SECTION("kills") kill_peers(1000);
}

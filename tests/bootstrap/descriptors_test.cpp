// Where the limit of descriptors is too low the error names one with which it works, and everybody hears of it.
#include <sys/resource.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "rondo/communicator.hpp"
#include "strangers.hpp"
#include "support/arrivals.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

void limit_descriptors(rlim_t limit) {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = limit;
  setrlimit(RLIMIT_NOFILE, &now);
}

/// N of "ulimit -n N"; 0 when the text isn't the error that is expected.
rlim_t named_limit(const std::string& text) {
  const std::string before = "ulimit -n ";
  const auto at = text.find(before);
  if (text.rfind("out_of_resources: ", 0) != 0 || at == std::string::npos) return 0;
  return std::strtoul(text.c_str() + at + before.size(), nullptr, 10);
}

CommunicatorOptions within_seconds(int seconds) {
  CommunicatorOptions options;
  options.bootstrap_timeout = options.timeout = std::chrono::seconds(seconds);
  return options;
}

/// Makes a communicator and uses it; an error's text, else "".
using Attempt = std::function<std::string(const std::string& job)>;

std::string reduce(Communicator& communicator) {
  std::vector<float> values(100'000, 1);
  const auto done = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32);
  return done ? "" : to_string(done.error());
}

Attempt one_process(std::uint32_t rank, std::uint32_t ranks) {
  return [=](const std::string& job) -> std::string {
    auto made = Communicator::local(rank, ranks, job, within_seconds(20));
    return made ? reduce(*made) : to_string(made.error());
  };
}

Attempt all_threads(std::uint32_t ranks) {
  return [=](const std::string&) -> std::string {
    auto made = Communicator::in_process(ranks, within_seconds(20));
    if (!made) return to_string(made.error());
    return complaints(run_each(*made, reduce));
  };
}

/// Sanitizers look a type up with descriptors of their own when they first meet it: here, and not in children that have none.
std::string meet_all_types() {
  const std::string job = fresh_job();
  std::string second;
  std::thread other([&] { second = one_process(1, 2)(job); });
  const std::string first = one_process(0, 2)(job);
  other.join();
  return first + second + all_threads(2)("");
}

/// "" when with this limit the attempt fails at once for want of descriptors. `enough`: the limit that its error names; 0: not known yet.
std::string expect_too_few(const Attempt& attempt, const std::string& job, rlim_t limit, rlim_t& enough) {
  limit_descriptors(limit);
  const auto begin = Clock::now();
  const std::string text = attempt(job);
  const double took = seconds_since(begin);
  const rlim_t named = named_limit(text);
  const std::string where = "with a limit of " + std::to_string(limit) + ": ";
  if (named <= limit) return where + "'" + text + "'";
  if (enough != 0 && named != enough) return where + "'" + text + "' though it was " + std::to_string(enough) + " before";
  enough = named;
  return took < 1 ? "" : where + "it took " + std::to_string(took) + " s";
}

/// From one free descriptor on it fails, with the limit that the errors name it works. `gather`: before each attempt that fails.
ChildBody too_few_then_enough(const Attempt& attempt, const std::string& job, rlim_t step, const std::function<void()>& gather = [] {}) {
  return [=]() -> std::string {
    rlim_t enough = 0;
    int trial = 0;
    const auto fails = [&](rlim_t limit) {
      gather();
      return expect_too_few(attempt, job + "/" + std::to_string(trial++), limit, enough);
    };
    const auto lowest_free = static_cast<rlim_t>(Fd(dup(0)).get());
    for (rlim_t limit = lowest_free + 1; enough == 0 || limit < enough; limit += step)
      if (const std::string wrong = fails(limit); !wrong.empty()) return wrong;
    if (const std::string wrong = fails(enough - 1); !wrong.empty()) return wrong;
    limit_descriptors(enough);
    const std::string text = attempt(job + "/enough");
    return text.empty() ? "" : "with the limit that was asked for, " + std::to_string(enough) + ": " + text;
  };
}

}  // namespace

TEST_CASE("processes with too few descriptors name a limit, and with that limit they work") {
  REQUIRE(meet_all_types() == "");
  for (const std::uint32_t ranks : {2u, 8u}) {
    INFO(ranks << " ranks");
    const std::string job = fresh_job();
    // All begin an attempt together: whoever was ahead would try to reach the others for as long as it may.
    const Arrivals arrivals;
    const auto gather = [&arrivals, ranks] { arrivals.await((arrivals.count() / ranks + 1) * ranks, 2); };
    std::vector<ChildBody> bodies;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) bodies.push_back(too_few_then_enough(one_process(rank, ranks), job, ranks / 2, gather));
    CHECK(complaints(run_children(bodies, 60)) == "");
  }
}

TEST_CASE("threads with too few descriptors name a limit, and with that limit they work") {
  REQUIRE(meet_all_types() == "");
  for (const std::uint32_t ranks : {1u, 2u, 8u}) {
    INFO(ranks << " ranks");
    CHECK(complaints(run_children({too_few_then_enough(all_threads(ranks), "", ranks * ranks / 4 + 1)}, 60)) == "");
  }
}

TEST_CASE("descriptors that are open are counted where they take room below the limit") {
  REQUIRE(meet_all_types() == "");
  const auto body = []() -> std::string {
    std::vector<Fd> open;
    while (open.size() < 100) open.push_back(Fd(dup(0)));
    for (std::size_t i = 0; i < open.size(); i += 2) open[i].reset();
    // Half of the numbers up to 100 are free, and where the limits begin many are open above them.
    return too_few_then_enough(all_threads(3), "", 7)();
  };
  CHECK(complaints(run_children({body}, 30)) == "");
}

TEST_CASE("when one rank alone has too few descriptors the others learn its reason within a second") {
  for (const std::uint32_t poor : {0u, 1u}) {
    INFO("rank " << poor);
    const std::string job = fresh_job();
    const std::string name = "rank " + std::to_string(poor) + " (process";
    const auto body = [&](std::uint32_t rank) {
      return [&, rank]() -> std::string {
        const auto begin = Clock::now();
        if (rank != poor) return expect_words(meet(rank, 3, job), {"peer_failed", name, "could not join", "ulimit -n "}, begin, 1.2);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others are there
        limit_descriptors(10);
        return expect_words(meet(rank, 3, job), {"out_of_resources", "the limit is 10", "ulimit -n "}, begin, 1);
      };
    };
    CHECK(complaints(run_children({body(0), body(1), body(2)}, 30)) == "");
  }
}

// When things go wrong between ranks whose links are messages: the same errors as over shared memory, on every rank.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "links.hpp"
#include "support/arrivals.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/shared.hpp"
#include "support/sleep.hpp"

using namespace rondo;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double bound_seconds = 1;

/// The same, and in time.
std::string expect_error(const Result<void>& result, Errc code, const std::vector<std::string>& words, Clock::time_point begin) {
  if (const double took = seconds_since(begin); took > bound_seconds) return "took " + std::to_string(took) + " s";
  return ::expect_error(result, code, words);
}

}  // namespace

TEST_CASE("ranks that disagree over message links all raise an error within a second that says who called what") {
  const std::string links = each_link();
  const auto cases = disagreements();
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const std::uint32_t ranks : {2u, 3u, 4u}) {
      INFO("case " << i << ", " << ranks << " ranks");
      const auto body = [&](Communicator& c) { return mismatch(c, cases[i], bound_seconds); };
      CHECK(complaints(run_processes(ranks, body, over(links))) == "");
    }
}

TEST_CASE("a rank over message links that comes late hears why the others failed, though one of them is gone that never called it") {
  const std::string links = each_link();
  const Disagreement roots = disagreements()[10];
  const auto body = [&roots](Communicator& communicator) {
    if (communicator.rank() == 2) sleep_ms(50);
    return mismatch(communicator, roots, bound_seconds);
  };
  for (int i = 0; i < 5; ++i) CHECK(complaints(run_processes(3, body, over(links))) == "");
}

TEST_CASE("a sender and a receiver over message links that disagree on the count both raise a mismatch, and so do the others") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) { return pair_mismatch(communicator, bound_seconds); };
  CHECK(complaints(run_processes(3, body, over(links))) == "");
}

TEST_CASE("abort over message links ends every wait on every rank, also one that comes later, and names who called it") {
  const std::string links = each_link();
  for (const bool in_call : {false, true}) {
    const auto body = [in_call](Communicator& communicator) -> std::string {
      float value = 1;
      auto begin = Clock::now();
      if (communicator.rank() == 0) {
        std::thread aborter([&] {
          sleep_ms(100);
          communicator.abort();
        });
        Result<void> result;
        if (in_call) result = communicator.barrier();
        aborter.join();
        if (result) result = communicator.barrier();
        sleep_ms(600);  // it stays, and turns no crank
        return result ? "success" : result.error().code == Errc::aborted ? "" : to_string(result.error());
      }
      Result<void> result;
      if (communicator.rank() == 1) result = communicator.barrier();
      if (communicator.rank() == 2) result = communicator.recv(&value, 1, DataType::f32, 1);
      if (communicator.rank() == 3) {
        sleep_ms(300);
        begin = Clock::now();
        for (int i = 0; result && i < 3; ++i) result = communicator.barrier();
      }
      return expect_error(result, Errc::aborted, {"rank 0 ", "called abort()"}, begin);
    };
    INFO((in_call ? "its own rank waits" : "its own rank is in no call"));
    CHECK(complaints(run_processes(4, body, over(links))) == "");
  }
}

TEST_CASE("abort over message links reaches a rank that comes later, though neither has sent anything before") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() == 0) {
      communicator.abort();
      sleep_ms(1000);  // it stays, and turns no crank
      return "";
    }
    sleep_ms(200);
    const auto begin = Clock::now();
    return expect_error(communicator.barrier(), Errc::aborted, {"rank 0 ", "called abort()"}, begin);
  };
  CHECK(complaints(run_processes(2, body, over(links, std::chrono::seconds(5)))) == "");
}

TEST_CASE("a rank over message links that leaves is named by all that need it, also through a third") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    if (communicator.rank() == 1) return "";
    const auto begin = Clock::now();
    const std::string wrong = expect_error(sum_of(communicator, 100'000), Errc::peer_failed, {"rank 1 ", "left the communicator before"}, begin);
    if (!wrong.empty()) return wrong;
    return expect_error(communicator.barrier(), Errc::peer_failed, {"rank 1 "}, begin);
  };
  for (const std::uint32_t ranks : {2u, 3u, 4u}) CHECK(complaints(run_processes(ranks, body, over(links))) == "");
}

TEST_CASE("messages that a rank over message links sent before it left arrive, and the one it didn't send is an error") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<std::int32_t> values(10, 5);
    if (communicator.rank() == 1) {
      for (int i = 0; i < 3; ++i)
        if (auto sent = communicator.send(values.data(), values.size(), DataType::i32, 0); !sent) return to_string(sent.error());
      return "";
    }
    sleep_ms(100);
    auto begin = Clock::now();
    for (int i = 0; i < 3; ++i) {
      values.assign(10, 0);
      if (auto got = communicator.recv(values.data(), values.size(), DataType::i32, 1); !got) return to_string(got.error());
      if (values.back() != 5) return "a wrong message";
    }
    return expect_error(communicator.recv(values.data(), values.size(), DataType::i32, 1), Errc::peer_failed, {"rank 1 "}, begin);
  };
  CHECK(complaints(run_processes(2, body, over(links))) == "");
}

TEST_CASE("a large send over message links to a rank that leaves without taking it is an error that names the rank") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(1 << 24, 1);  // sockets take some megabytes in, whether anybody reads them or not
    if (communicator.rank() == 1) {
      sleep_ms(200);
      return "";
    }
    const auto begin = Clock::now();
    return expect_error(communicator.send(values.data(), values.size(), DataType::f32, 1), Errc::peer_failed, {"rank 1 "}, begin);
  };
  CHECK(complaints(run_processes(2, body, over(links))) == "");
}

TEST_CASE("a killed rank over message links gives every survivor an error that names it within a second") {
  const std::string links = each_link();
  for (const std::uint32_t ranks : {2u, 4u}) {
    const auto body = [](Communicator& communicator) -> std::string {
      for (int i = 0; i < 20; ++i)
        if (auto done = sum_of(communicator, 50'000); !done) return "before: " + to_string(done.error());
      const std::uint32_t victim = communicator.size() - 1;
      if (communicator.rank() == victim) raise(SIGKILL);
      const auto begin = Clock::now();
      Result<void> result;
      while (result && seconds_since(begin) < 10) result = sum_of(communicator, 50'000);
      return expect_error(result, Errc::peer_failed, {"rank " + std::to_string(victim) + " "}, begin);
    };
    auto answers = run_processes(ranks, body, over(links));
    CHECK(answers.back() == "ended by signal 9");
    answers.pop_back();
    CHECK(complaints(answers) == "");
  }
}

TEST_CASE("a deadline that ends on one rank over message links ends the wait of the others") {
  const std::string links = each_link();
  constexpr std::chrono::seconds timeout(1);
  const Arrivals through;
  const Shared<std::atomic<Clock::rep>> deadline;  // rank 0's
  const auto body = [&](Communicator& communicator) -> std::string {
    if (communicator.rank() == 2) return through.await(2) ? "" : "the others wait for ever";
    if (communicator.rank() == 0) deadline->store((Clock::now() + timeout).time_since_epoch().count(), std::memory_order_release);
    if (communicator.rank() == 1 && !communicator.set_timeout(std::chrono::seconds(20))) return "no deadline";
    const auto result = sum_of(communicator, 16);
    const Clock::time_point ended(Clock::duration(deadline->load(std::memory_order_acquire)));
    const bool is_first = communicator.rank() == 0;
    const std::string wrong = is_first ? expect_error(result, Errc::deadline_exceeded, {"rank 2 ", "has not entered"}, ended)
                                       : expect_error(result, Errc::peer_failed, {"rank 0 ", "did not end within"}, ended);
    through.count();
    return wrong;
  };
  CHECK(complaints(run_processes(3, body, over(links, timeout))) == "");
}

TEST_CASE("abort over message links ends started sends at once whose receiver never takes them") {
  const std::string links = each_link();
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(1 << 24, 1);  // more than sockets take in, so that not even the first of them is done
    if (communicator.rank() == 1) {
      sleep_ms(1000);
      return "";
    }
    std::vector<Work> works;
    for (int i = 0; i < 8; ++i) works.push_back(communicator.start_send(values.data(), values.size(), DataType::f32, 1));
    sleep_ms(50);
    const auto begin = Clock::now();
    communicator.abort();
    for (Work& work : works)
      if (std::string wrong = expect_error(work.wait(), Errc::aborted, {"abort"}, begin); !wrong.empty()) return wrong;
    return seconds_since(begin) < 0.5 ? "" : "took " + std::to_string(seconds_since(begin)) + " s";
  };
  CHECK(complaints(run_processes(2, body, over(links))) == "");
}

TEST_CASE("over message links a receive from any rank outlives ranks that have left, and ends when one dies, though they never said a word") {
  const std::string links = each_link();
  for (const bool dies : {false, true}) {
    const auto body = [dies](Communicator& communicator) -> std::string {
      std::vector<float> values(10, 1);
      if (communicator.rank() == 2) {
        if (!dies) return "";
        sleep_ms(400);
        raise(SIGKILL);
      }
      if (communicator.rank() == 1) {
        sleep_ms(700);
        if (dies) return "";
        const auto done = communicator.send(values.data(), values.size(), DataType::f32, 0);
        return done ? "" : to_string(done.error());
      }
      const auto begin = Clock::now();
      const auto sender = communicator.recv_any(values.data(), values.size(), DataType::f32);
      if (dies) return expect_error(sender ? Result<void>() : Result<void>(sender.error()), Errc::peer_failed, {"rank 2 "}, begin);
      return !sender ? to_string(sender.error()) : *sender == 1 ? "" : "from rank " + std::to_string(*sender);
    };
    INFO((dies ? "it dies" : "it leaves"));
    auto answers = run_processes(3, body, over(links));
    CHECK(answers.back() == (dies ? "ended by signal 9" : ""));
    answers.pop_back();
    CHECK(complaints(answers) == "");
  }
}

TEST_CASE("of many ranks over TCP each connects with those that it has something to say to, also where one is late, and all hear of a failure") {
  constexpr std::uint32_t ranks = 70;
  const auto sockets = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:");
    }
    return count;
  };
  const auto all_here = [&]() -> std::string {
    CommunicatorOptions options = over("tcp");
    options.algorithm = "ring";
    auto all = Communicator::in_process(ranks, options);
    if (!all) return to_string(all.error());
    const std::size_t before = sockets();
    const auto late = [](Communicator& communicator) -> std::string {
      if (communicator.rank() == 3) sleep_ms(400);
      const auto done = sum_of(communicator, 1000);
      return done ? "" : to_string(done.error());
    };
    if (std::string wrong = complaints(run_each(*all, late)); !wrong.empty()) return wrong;
    if (const std::size_t made = sockets() - before; made < 2 * ranks || made > 4 * ranks) return std::to_string(made) + " sockets";
    const auto failing = [](Communicator& communicator) -> std::string {
      if (communicator.rank() == 50) communicator.abort();
      return ::expect_error(sum_of(communicator, 1000), Errc::aborted, {communicator.rank() == 50 ? "abort() was called" : "rank 50 "});
    };
    return complaints(run_each(*all, failing));
  };
  CHECK(complaints(run_children({all_here})) == "");
}

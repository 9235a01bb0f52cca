// Ranks that can't belong to the job, or don't come: everybody learns who it was.
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "bootstrap/frame.hpp"
#include "rondo/communicator.hpp"
#include "strangers.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sleep.hpp"

namespace {

using namespace rondo;

/// A rank of `size` whose job comes to nothing: "" when that has `words` and took no more than `bound_seconds`.
ChildBody told(std::uint32_t rank, std::uint32_t size, const std::string& job, const std::vector<std::string>& words, double bound_seconds,
               double patience = 20) {
  return [=]() -> std::string {
    const auto begin = Clock::now();
    return expect_words(meet(rank, size, job, patience), words, begin, bound_seconds);
  };
}

}  // namespace

TEST_CASE("a rank of another library version ends the job within a second, and every rank learns both versions") {
  const std::string job = fresh_job();
  const std::vector<std::string> words{"mismatch", "rank 2 ", "version " + std::to_string(version() + 1), "version " + std::to_string(version())};
  const auto other = [&]() -> std::string {
    sleep_ms(200);
    const Fd socket = knock(socket_name(job));
    Hello hello = right_hello(2, 3);
    hello.version += 1;
    std::memset(&hello.size, 0xff, sizeof hello - offsetof(Hello, size));  // what another version may have there
    say(socket, &hello, sizeof hello);
    const auto answer = receive_frame(socket.get(), now_ns() + 1'000'000'000);
    if (!answer) return to_string(answer.error());
    return std::string(reinterpret_cast<const char*>(answer->bytes.data()), answer->bytes.size()).find(words[2]) == std::string::npos ? "it isn't told" : "";
  };
  CHECK(complaints(run_children({told(0, 3, job, words, 1), told(1, 3, job, words, 1), other}, 20)) == "");
}

TEST_CASE("ranks that disagree on the size of their job all learn who said what within a second") {
  const std::string job = fresh_job();
  const std::vector<std::string> words{"mismatch", "rank 1 ", job, "has 3 ranks", "rank 0 says 2"};
  CHECK(complaints(run_children({told(0, 2, job, words, 1), told(1, 3, job, words, 1)}, 20)) == "");
}

TEST_CASE("a second process with the same rank is refused, and the job goes on") {
  const std::string job = fresh_job();
  const auto late = [&](std::uint32_t rank, int milliseconds, const std::vector<std::string>& words) {
    return [=]() -> std::string {
      sleep_ms(milliseconds);
      const auto begin = Clock::now();
      const std::string answer = meet(rank, 3, job);
      return words.empty() ? answer : expect_words(answer, words, begin, 1);
    };
  };
  const std::vector<std::string> refusal{"invalid_argument", "rank 1 (process", "came though", "was there"};
  const std::vector<std::string> out_of_range{"invalid_argument", "rank 7", "out of range"};
  const std::vector<ChildBody> ranks{late(0, 0, {}), late(1, 0, {}), late(1, 500, refusal), late(7, 500, out_of_range), late(2, 1000, {})};
  CHECK(complaints(run_children(ranks, 20)) == "");
}

TEST_CASE("a rank that never comes is named when the time is over, to all who came") {
  SECTION("by processes") {
    const std::string job = fresh_job();
    const std::vector<std::string> words{"deadline_exceeded", "no sign of rank 2 of job '" + job + "'"};
    CHECK(complaints(run_children({told(0, 3, job, words, 1.5, 0.5), told(1, 3, job, words, 1.5, 0.6)}, 20)) == "");
  }
  SECTION("by processes, with a hint when another came twice instead") {
    const std::string job = fresh_job();
    const std::vector<std::string> words{"no sign of rank 2", "rank 1 (process", "came though"};
    const auto twin = [&]() -> std::string {
      sleep_ms(300);
      return meet(1, 3, job).empty() ? "it was taken in" : "";
    };
    CHECK(complaints(run_children({told(0, 3, job, words, 2, 1), told(1, 3, job, words, 2, 1.2), twin}, 20)) == "");
  }
  SECTION("rank 0 itself") {
    const std::string job = fresh_job();
    CHECK(told(1, 2, job, {"deadline_exceeded", "no sign of rank 0 of job '" + job + "'"}, 0.6, 0.3)() == "");
  }
  SECTION("by threads") {
    auto ends = make_in_process_bootstrap(3);
    std::vector<std::string> answers(2);
    std::vector<std::thread> threads;
    const auto begin = Clock::now();
    for (std::uint32_t rank = 0; rank < 2; ++rank) threads.emplace_back([&, rank] { answers[rank] = exchange(*ends[rank], rank, 3, 0.3); });
    for (std::thread& thread : threads) thread.join();
    // Whoever's time is over first says so; the other hears that it left.
    CHECK(expect_words(answers[0] + answers[1], {"deadline_exceeded", "no sign of rank 2"}, begin, 1) == "");
    CHECK(!answers[0].empty());
    CHECK(!answers[1].empty());
  }
}

TEST_CASE("a thread that comes when another's time is over gets an error and waits for nobody") {
  const auto body = []() -> std::string {
    auto ends = make_in_process_bootstrap(2);
    const auto begin = Clock::now();
    const std::string early = exchange(*ends[0], 0, 2, 0.1);
    const std::string late = exchange(*ends[1], 1, 2, 5);
    return expect_words(early, {"no sign of rank 1"}, begin, 1) + expect_words(late, {"peer_failed", "left during creation"}, begin, 1);
  };
  CHECK(complaints(run_children({body}, 10)) == "");
}

TEST_CASE("a rank that talks nonsense after its hello is named to all") {
  const std::string job = fresh_job();
  const std::vector<std::string> words{"rank 2 (process", "can't be understood", "no Rondo message"};
  struct FrameHead {
    char magic[8];
    std::uint64_t bytes, descriptors;
  };
  FrameHead head{{'n', 'o', 'n', 's', 'e', 'n', 's', 'e'}, 1, 0};
  SECTION("of another kind") {}
  SECTION("that would cost 2^50 bytes") head = {{'r', 'o', 'n', 'd', 'o', 'f', 'r', '1'}, std::uint64_t{1} << 50, 0};
  const auto talker = [&]() -> std::string {
    const Fd socket = knock(socket_name(job));
    const Hello hello = right_hello(2, 3);
    say(socket, &hello, sizeof hello);
    say(socket, &head, sizeof head);
    sleep_ms(500);
    return "";
  };
  CHECK(complaints(run_children({told(0, 3, job, words, 1), told(1, 3, job, words, 1), talker}, 20)) == "");
}

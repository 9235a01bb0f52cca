// How communicators end: with work in flight, with a rank killed on the way out, and with nothing left behind.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t long_count = 1u << 20;

/// A rank of a job, which the body owns and so may end.
ChildBody with_rank(std::uint32_t rank, std::uint32_t ranks, const std::string& job, std::function<std::string(Communicator)> body,
                    const CommunicatorOptions& options = {}) {
  return [=]() -> std::string {
    auto made = Communicator::local(rank, ranks, job, options);
    return made ? body(std::move(*made)) : "creation: " + to_string(made.error());
  };
}

std::string says(const std::string& what, const Result<void>& result) { return result ? "" : what + ": " + to_string(result.error()); }

/// What this machine has by name of local sockets of this program's jobs, and of shared memory of Rondo's.
std::string names_on_this_machine() {
  const std::string own = "/test/" + std::to_string(getpid()) + "/";  // fresh_job()
  std::ifstream sockets("/proc/net/unix");
  std::string names, line;
  while (std::getline(sockets, line))
    if (line.find("rondo") != std::string::npos && line.find(own) != std::string::npos) names += line.substr(line.find("rondo")) + "\n";
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (entry.path().string().find("rondo") != std::string::npos) names += entry.path().string() + "\n";
  return names;
}

}  // namespace

TEST_CASE("a communicator that is destroyed with work in flight ends it first") {
  const std::string job = fresh_job();
  const auto body = [](Communicator communicator) -> std::string {
    std::vector<float> values(long_count, 1);
    {
      Communicator going = std::move(communicator);
      if (going.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      for (int i = 0; i < 3; ++i) (void)going.start(Call{Collective::all_reduce, values.data(), values.data(), long_count, DataType::f32, ReduceOp::sum});
    }
    for (const float value : values)
      if (value != 8) return "it went before its work was done";
    return "";
  };
  CHECK(complaints(run_children({with_rank(0, 2, job, body), with_rank(1, 2, job, body)})) == "");
}

TEST_CASE("a communicator that is destroyed with work in flight that can't end gives it up at the deadline") {
  CommunicatorOptions options;
  options.timeout = std::chrono::milliseconds(500);
  const std::string job = fresh_job();
  const auto goes = [](Communicator communicator) -> std::string {
    std::vector<float> values(long_count, 1);
    const auto begin = Clock::now();
    Work work;
    {
      Communicator going = std::move(communicator);
      work = going.start(Call{Collective::all_reduce, values.data(), values.data(), long_count, DataType::f32, ReduceOp::sum});
    }
    const Result<void> result = work.wait();
    work = Work();
    if (seconds_since(begin) > 2) return "took " + std::to_string(seconds_since(begin)) + " s";
    return expect_error(result, Errc::deadline_exceeded, {"rank 1 ", "has not entered"});
  };
  const auto stays = [](Communicator communicator) -> std::string {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::vector<float> values(long_count, 1);
    return expect_error(communicator.all_reduce(values.data(), values.data(), long_count, DataType::f32), Errc::peer_failed, {"rank 0 ", "did not end within"});
  };
  CHECK(complaints(run_children({with_rank(0, 2, job, goes, options), with_rank(1, 2, job, stays, options)})) == "");
}

TEST_CASE("a rank killed while all leave holds nobody up, and a new communicator works") {
  std::mt19937 random(20'261);
  for (int round = 0; round < (sanitized ? 8 : 20); ++round) {
    const std::string job = fresh_job(), next_job = fresh_job();
    const auto delay = std::chrono::microseconds(random() % 1500);
    const Death death;
    const auto body = [&](Communicator communicator) -> std::string {
      const std::uint32_t rank = communicator.rank();
      std::vector<float> values(long_count, 1);
      if (auto done = communicator.all_reduce(values.data(), values.data(), long_count, DataType::f32); !done) return says("before", done);
      std::thread killer;
      if (rank == 2) killer = std::thread([&] {
        std::this_thread::sleep_for(delay);
        death.come();
      });
      const auto begin = Clock::now();
      { const Communicator going = std::move(communicator); }
      if (killer.joinable()) killer.join();
      if (seconds_since(begin) > 1) return "leaving took " + std::to_string(seconds_since(begin)) + " s";
      auto next = Communicator::local(rank, 2, next_job);
      if (!next) return "new communicator: " + to_string(next.error());
      return says("new communicator", next->all_reduce(values.data(), values.data(), long_count, DataType::f32));
    };
    auto answers = run_children({with_rank(0, 3, job, body), with_rank(1, 3, job, body), with_rank(2, 3, job, body)}, 30);
    INFO("round " << round);
    REQUIRE(answers.back() == "ended by signal 9");
    answers.pop_back();
    REQUIRE(complaints(answers) == "");
  }
}

TEST_CASE("a rank that died is named before those that left, perhaps because of it") {
  const std::string job = fresh_job();
  const auto leaves = [](Communicator) -> std::string { return ""; };
  const Death death;
  const auto dies = [&death](Communicator) -> std::string {
    death.come();
    return "";
  };
  const auto calls = [&death](Communicator communicator) -> std::string {
    const auto begin = Clock::now();
    while (!death.has_come() && seconds_since(begin) < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::seconds(1));  // it has heard of the death by then, and of the one that left
    return expect_error(communicator.barrier(), Errc::peer_failed, {"rank 1 ", "died during or before barrier"});
  };
  const auto answers = run_children({with_rank(0, 3, job, leaves), with_rank(1, 3, job, dies), with_rank(2, 3, job, calls)}, 30);
  CHECK(complaints({answers[0], "", answers[2]}) == "");
}

TEST_CASE("nothing is left of a job whose ranks were all killed, and one of the same name works") {
  const std::string before = names_on_this_machine(), job = fresh_job();
  const auto killed = [](Communicator communicator) -> std::string {
    std::vector<float> values(long_count, 1);
    (void)communicator.all_reduce(values.data(), values.data(), long_count, DataType::f32);
    raise(SIGKILL);
    return "";
  };
  for (const std::string& answer : run_children({with_rank(0, 2, job, killed), with_rank(1, 2, job, killed)})) CHECK(answer == "ended by signal 9");
  CHECK(names_on_this_machine() == before);
  const auto works = [](Communicator communicator) -> std::string { return says("the same name", communicator.barrier()); };
  CHECK(complaints(run_children({with_rank(0, 2, job, works), with_rank(1, 2, job, works)})) == "");
}

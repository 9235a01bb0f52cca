// What goes wrong on a network: every survivor gets an error that names the rank and its host within three seconds, or the right result.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "jobs.hpp"
#include "support/arrivals.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"

using namespace rondo;

namespace {

using Clock = std::chrono::steady_clock;

/// Reduces until that fails. Large calls and small ones in turn; `calling` counts this rank when it has had one of each.
Result<void> reduce_until_error(Communicator& communicator, const Arrivals& calling) {
  std::vector<float> values(1 << 18, 1);
  for (std::uint64_t call = 0;; ++call) {
    const std::uint64_t count = call % 2 == 0 ? values.size() : 1;
    if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32, ReduceOp::max); !done) return done;
    if (call == 1) calling.count();
  }
}

/// Until so many ranks are in the middle of their calls.
void await_calls(const Arrivals& calling, std::uint32_t ranks) {
  calling.await(ranks);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

/// "" when every survivor's error came within three seconds of `begin`; its answer begins with its text, and then a time.
std::string in_time(const std::vector<std::string>& answers, Clock::time_point begin) {
  std::string wrong;
  for (const std::string& answer : answers) {
    const std::size_t at = answer.rfind('@');
    if (at == std::string::npos || at != 0) {
      wrong += answer + "\n";
      continue;
    }
    const double took = static_cast<double>(std::stoll(answer.substr(1)) - begin.time_since_epoch().count()) / 1e9;
    if (took > 3) wrong += "took " + std::to_string(took) + " s\n";
  }
  return wrong;
}

/// What a survivor does: answers "@" and the time of its error, which must be a peer_failed that has `words`.
RankBody survivor(const std::vector<std::string>& words, const Arrivals& calling) {
  return [words, &calling](Communicator& communicator) {
    const auto result = reduce_until_error(communicator, calling);
    const Clock::time_point failed = Clock::now();
    return expect_error(result, Errc::peer_failed, words) + "@" + std::to_string(failed.time_since_epoch().count());
  };
}

using Ranks = std::array<Child, 3>;

/// Three survivors on a host each, in the middle of their calls, each with the words of the error that it is to get.
template <class Words>
Ranks in_calls(const Hosts& hosts, const Words& words) {
  const Arrivals calling;
  Ranks ranks;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) ranks[rank] = start_child(rank_of_job(hosts, rank, 3, 1, survivor(words(rank), calling)));
  await_calls(calling, 3);
  return ranks;
}

}  // namespace

TEST_CASE("a rank killed on another host is named with its host to all others within three seconds") {
  if (!can_make_hosts()) return;
  const Hosts hosts(3);
  REQUIRE(hosts.trouble() == "");
  for (const std::uint32_t victim : {0u, 2u}) {
    INFO("rank " << victim << " dies");
    const Ranks ranks = in_calls(hosts, [&](std::uint32_t) { return std::vector<std::string>{"rank " + std::to_string(victim) + " (process ", " on "}; });
    const auto begin = Clock::now();
    kill(ranks[victim].process, SIGKILL);
    std::vector<std::string> answers;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const std::string answer = answer_of(ranks[rank], begin + std::chrono::seconds(20));
      if (rank != victim) answers.push_back(answer);
    }
    CHECK(in_time(answers, begin) == "");
  }
}

TEST_CASE("a rank killed among ranks that share hosts is named to all others within three seconds, be it near or far") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  for (const std::uint32_t victim : {0u, 3u}) {
    INFO("rank " << victim << " dies");
    const Arrivals calling;
    std::vector<Child> ranks;
    for (const ChildBody& rank : ranks_on(hosts, {0, 0, 1, 1}, survivor({"rank " + std::to_string(victim) + " (process ", " on "}, calling)))
      ranks.push_back(start_child(rank));
    await_calls(calling, 4);
    const auto begin = Clock::now();
    kill(ranks[victim].process, SIGKILL);
    std::vector<std::string> answers;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      const std::string answer = answer_of(ranks[rank], begin + std::chrono::seconds(20));
      if (rank != victim) answers.push_back(answer);
    }
    CHECK(in_time(answers, begin) == "");
  }
}

TEST_CASE("a rank killed on another host is named though a child that it forked lives on") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  const Arrivals calling;
  const auto victim = [&calling](Communicator& communicator) -> std::string {
    if (fork() == 0) {
      alarm(20);
      for (;;) pause();
    }
    return to_string(reduce_until_error(communicator, calling).error());
  };
  const Child first = start_child(rank_of_job(hosts, 0, 2, 1, survivor({"rank 1 (process "}, calling)));
  const Child second = start_child(rank_of_job(hosts, 1, 2, 1, victim));
  await_calls(calling, 2);
  const auto begin = Clock::now();
  kill(second.process, SIGKILL);
  const std::string answer = answer_of(first, begin + std::chrono::seconds(20));
  (void)answer_of(second, Clock::now());
  CHECK(in_time({answer}, begin) == "");
}

TEST_CASE("a host that can't be reached any more is named to all others within three seconds") {
  if (!can_make_hosts()) return;
  for (const std::uint32_t victim : {0u, 2u}) {
    INFO("host " << victim << " is cut off");
    const Hosts hosts(3);
    REQUIRE(hosts.trouble() == "");
    const Ranks ranks = in_calls(hosts, [&](std::uint32_t rank) {
      return std::vector<std::string>{"rank " + (rank == victim ? "" : std::to_string(victim) + " (process ")};
    });
    const auto begin = Clock::now();
    REQUIRE(hosts.cut(victim));
    std::vector<std::string> answers;
    for (const Child& rank : ranks) answers.push_back(answer_of(rank, begin + std::chrono::seconds(20)));
    CHECK(in_time(answers, begin) == "");
  }
}

TEST_CASE("where two hosts alone can't reach one another any more, their ranks are named to all within three seconds") {
  if (!can_make_hosts()) return;
  for (const bool both_ways : {true, false}) {
    INFO((both_ways ? "both ways" : "one way"));
    const Hosts hosts(3);
    REQUIRE(hosts.trouble() == "");
    const Ranks ranks = in_calls(hosts, [&](std::uint32_t) { return std::vector<std::string>{"rank ", " (process ", " on "}; });
    const auto begin = Clock::now();
    REQUIRE(hosts.drop(2, 1));
    if (both_ways) REQUIRE(hosts.drop(1, 2));
    std::vector<std::string> answers;
    for (const Child& rank : ranks) answers.push_back(answer_of(rank, begin + std::chrono::seconds(20)));
    CHECK(in_time(answers, begin) == "");
  }
}

TEST_CASE("packets that are lost now and then, and cables that become slow, make no errors and no wrong results") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  for (const std::uint32_t host : {0u, 1u}) REQUIRE(hosts.drop(host, 1 - host, 2));
  std::vector<Child> ranks;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    ranks.push_back(start_child(rank_of_job(hosts, rank, 4, 2, [](Communicator& communicator) {
      for (int turn = 0; turn < 2; ++turn)
        if (const std::string wrong = every_collective(communicator); !wrong.empty()) return wrong;
      return std::string();
    })));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const std::uint32_t host : {0u, 1u}) REQUIRE(hosts.run(host, "tc qdisc add dev eth root tbf rate 40mbit burst 32k latency 100ms"));
  const auto deadline = Clock::now() + std::chrono::seconds(100);
  std::vector<std::string> answers;
  for (const Child& rank : ranks) answers.push_back(answer_of(rank, deadline));
  CHECK(complaints(answers) == "");
}

TEST_CASE("what a rank sends last arrives though it leaves at once and the packets are lost for most of a second") {
  if (!can_make_hosts()) return;
  // Where acknowledgements get through, rank 0 goes on to send heartbeats, which end a socket that was closed, and what it still had to send with it.
  const std::string which = GENERATE("", "tcp flags psh");
  CAPTURE(which);
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  const auto receiver = [which](Communicator& communicator) -> std::string {
    float value = 0;
    if (auto done = communicator.recv(&value, 1, DataType::f32, 1); !done) return to_string(done.error());
    if (std::system(Hosts::losing(1, which).c_str()) != 0) return "nft fails";
    auto told = communicator.send(&value, 1, DataType::f32, 1);
    Work coming = communicator.start_recv(&value, 1, DataType::f32, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    if (std::system("nft delete table ip trial") != 0) return "nft fails at its end";
    if (auto done = coming.wait(); !done) return to_string(done.error());
    return told && value == 7 ? "" : "wrong value";
  };
  const auto sender = [](Communicator& communicator) -> std::string {
    float value = 0;
    auto done = communicator.send(&value, 1, DataType::f32, 0);
    if (done) done = communicator.recv(&value, 1, DataType::f32, 0);
    value = 7;
    if (done) done = communicator.send(&value, 1, DataType::f32, 0);
    return done ? "" : to_string(done.error());
  };
  const std::array ranks{start_child(rank_of_job(hosts, 0, 2, 1, receiver)), start_child(rank_of_job(hosts, 1, 2, 1, sender))};
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  CHECK(complaints({answer_of(ranks[0], deadline), answer_of(ranks[1], deadline)}) == "");
}

TEST_CASE("a rank that is stopped on another host holds a call up, and the call ends well when it goes on") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2);
  REQUIRE(hosts.trouble() == "");
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(1 << 18, 1);
    const auto end = Clock::now() + std::chrono::milliseconds(4500);
    for (float more = 1; more != 0;) {
      // Rank 0 says whether they go on, so that both make as many calls.
      more = communicator.rank() == 0 && Clock::now() < end ? 1 : 0;
      for (const std::uint64_t count : {std::uint64_t{1 << 18}, std::uint64_t{1}})
        if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32, ReduceOp::max); !done) return to_string(done.error());
      if (auto done = communicator.broadcast(&more, &more, 1, DataType::f32, 0); !done) return to_string(done.error());
    }
    return values[7] == 1 ? "" : "wrong maximum";
  };
  std::array<Child, 2> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) ranks[rank] = start_child(rank_of_job(hosts, rank, 2, 1, body));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  kill(ranks[1].process, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  kill(ranks[1].process, SIGCONT);
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  CHECK(complaints({answer_of(ranks[0], deadline), answer_of(ranks[1], deadline)}) == "");
}

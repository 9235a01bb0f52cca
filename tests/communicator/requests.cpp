// What a communicator tells of itself: its last operations, its plans, its machine; and what started calls cost while nothing runs.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// "" when the line begins and ends so.
std::string expect_line(const std::string& line, const std::string& begin, const std::string& end) {
  const bool right = line.rfind(begin, 0) == 0 && line.size() >= end.size() && line.compare(line.size() - end.size(), end.size(), end) == 0;
  return right ? "" : "expected '" + begin + " … " + end + "', got '" + line + "'";
}

std::int64_t process_cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

TEST_CASE("the flight record names the last operations, newest last, with their plans and states", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(300, 1);
    const auto none = lines_of(communicator.flight_record());
    if (none.size() != 1) return "there is a record before the first call";
    const std::string title = "last operations of rank " + std::to_string(communicator.rank()) + " of 2 (process ";
    if (auto wrong = expect_line(none[0], title, ""); !wrong.empty()) return wrong;
    auto plan = communicator.plan_for(Call{Collective::all_reduce, nullptr, nullptr, 300, DataType::f32, ReduceOp::max});
    if (!plan) return to_string(plan.error());
    if (auto done = communicator.all_reduce(values.data(), values.data(), 300, DataType::f32, ReduceOp::max); !done) return to_string(done.error());
    if (auto done = communicator.broadcast(values.data(), values.data(), 7, DataType::f32, 1); !done) return to_string(done.error());
    const bool sends = communicator.rank() == 0;
    const auto message = sends ? communicator.send(values.data(), 5, DataType::f32, 1) : communicator.recv(values.data(), 5, DataType::f32, 0);
    if (!message) return to_string(message.error());
    const auto lines = lines_of(communicator.flight_record());
    if (lines.size() != 4) return std::to_string(lines.size()) + " lines";
    const std::string peer = std::to_string(1 - communicator.rank());
    for (const std::string& wrong : {expect_line(lines[1], "#1 all_reduce of 300 f32 (max) by " + plan->header.algorithm + ": done", ""),
                                     expect_line(lines[2], "#2 broadcast of 7 f32 from rank 1 by ", ""),
                                     expect_line(lines[3], "#1 send_recv of 5 f32 with rank " + peer + " by ", "")})
      if (!wrong.empty()) return wrong;
    for (int i = 0; i < 100; ++i)
      if (auto done = communicator.barrier(); !done) return to_string(done.error());
    const auto later = lines_of(communicator.flight_record());
    if (later.size() != 33) return std::to_string(later.size()) + " lines after 100 calls more";
    return expect_line(later[1], "#71 barrier by ", "") + expect_line(later.back(), "#102 barrier by ", "");
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a rank that fails prints its error and its last operations, once") {
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 1;
    if (auto done = communicator.all_reduce(&value, &value, 1, DataType::f32); !done) return to_string(done.error());
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1200));
      return "";
    }
    if (auto set = communicator.set_timeout(std::chrono::milliseconds(200)); !set) return to_string(set.error());
    const std::string said = said_during([&] {
      for (int i = 0; i < 3; ++i) (void)communicator.barrier();
    });
    const std::vector<std::string> words{"deadline_exceeded", "last operations of rank 0 of 2 (process ",
                                         "#1 all_reduce of 1 f32 (sum) by ", "#2 barrier by ", ": failed"};
    for (const std::string& word : words)
      if (said.find(word) == std::string::npos) return "'" + word + "' is missing in: " + said;
    return said.find("last operations") == said.rfind("last operations") ? "" : "it was printed twice: " + said;
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a rank that waits for five seconds says for whom, and gets its result all the same") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(6));
    Result<void> done;
    const std::string said = said_during([&] { done = communicator.barrier(); });
    if (!done) return to_string(done.error());
    if (communicator.rank() == 1) return said.empty() ? "" : "the one that came late says: " + said;
    for (const std::string word : {"barrier (#2) has waited for 5 s: rank 1 ", "has not entered it"})
      if (said.find(word) == std::string::npos) return "'" + word + "' is missing in: " + said;
    const std::string record = communicator.flight_record();
    return record.find(": done (waited ") == std::string::npos ? "the record doesn't tell of the wait: " + record : "";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("the progress thread costs nothing while no started call is under way") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(5000, 1);
    for (int i = 0; i < 3; ++i) {
      Work work = communicator.start(Call{Collective::all_reduce, values.data(), values.data(), values.size(), DataType::f32, ReduceOp::max});
      if (auto done = work.wait(); !done) return to_string(done.error());
    }
    const std::int64_t before_ns = process_cpu_ns();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::int64_t used_ns = process_cpu_ns() - before_ns;
    // processor time, so that what else runs here makes no difference
    return used_ns < 20'000'000 ? "" : std::to_string(used_ns / 1000) + " us of processor time in an idle second";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a wait with a limit ends when it is over, leaves the call running, and gets the result later", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::int32_t value = 0, go = 1;
    if (communicator.rank() == 1) {
      if (auto done = communicator.recv(&go, 1, DataType::i32, 0); !done) return to_string(done.error());
      value = 42;
      const auto sent = communicator.send(&value, 1, DataType::i32, 0);
      return sent ? "" : to_string(sent.error());
    }
    Work work = communicator.start_recv(&value, 1, DataType::i32, 1);
    for (int i = 0; i < 2; ++i)
      if (auto wrong = expect_error(work.wait_for(std::chrono::milliseconds(20)), Errc::deadline_exceeded, {"still running"}); !wrong.empty()) return wrong;
    if (work.done()) return "done before the message was sent";
    if (auto done = communicator.send(&go, 1, DataType::i32, 1); !done) return to_string(done.error());
    if (auto done = work.wait_for(std::chrono::seconds(20)); !done) return to_string(done.error());
    return value == 42 && work.done() ? "" : "the wrong value";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("plan_for shows the plan that a call runs, with the candidates that lost, and refuses a call without sense", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(100'000, 1);
    for (const std::uint64_t count : {1u, 5000u, 100'000u}) {
      const Call call{Collective::all_reduce, values.data(), values.data(), count, DataType::f32, ReduceOp::sum};
      const auto plan = communicator.plan_for(call);
      if (!plan) return to_string(plan.error());
      if (plan->header.ranks != communicator.size() || plan->header.collective != Collective::all_reduce) return "a plan for something else";
      if (plan->considered.size() < 3) return "only " + std::to_string(plan->considered.size()) + " candidates";
      if (auto done = communicator.run(call); !done) return to_string(done.error());
      const std::string ran = " by " + plan->header.algorithm + ":";
      if (lines_of(communicator.flight_record()).back().find(ran) == std::string::npos) return "not" + ran + " " + communicator.flight_record();
    }
    const auto refused = communicator.plan_for(Call{Collective::broadcast, nullptr, nullptr, 1, DataType::f32, ReduceOp::sum, 99});
    if (refused) return "a root beyond the ranks was accepted";
    return refused.error().code == Errc::invalid_argument ? "" : to_string(refused.error());
  };
  for (const std::uint32_t ranks : {2u, 4u}) CHECK(complaints(run_threads(ranks, body)) == "");
}

TEST_CASE("every rank knows the same machine, and on it each rank's own process and processors") {
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  std::vector<std::uint32_t> cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  constexpr std::uint32_t ranks = 3;
  const std::string job = fresh_job();
  const auto rank_on = [&](std::uint32_t rank) -> std::string {
    const std::uint32_t own_cpu = cpus[rank % cpus.size()];
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(own_cpu, &own);
    if (sched_setaffinity(0, sizeof own, &own) != 0) return "can't be bound to a processor";
    auto made = Communicator::local(rank, ranks, job);
    if (!made) return to_string(made.error());
    Communicator& communicator = *made;
    const Topology& topology = communicator.topology();
    if (topology.ranks.size() != ranks || topology.hosts.size() != 1) return "not " + std::to_string(ranks) + " ranks on one machine";
    std::vector<std::int64_t> processes(ranks);
    const std::int64_t process = getpid();
    if (auto done = communicator.all_gather(&process, processes.data(), 1, DataType::i64); !done) return to_string(done.error());
    for (std::uint32_t other = 0; other < ranks; ++other) {
      const RankPlace& place = topology.ranks[other];
      if (place.process != processes[other] || place.host != 0) return "rank " + std::to_string(other) + " has another process";
      if (place.cpus != std::vector<std::uint32_t>{cpus[other % cpus.size()]}) return "rank " + std::to_string(other) + " has other processors";
    }
    std::string text = write_topology_json(topology);
    std::uint64_t length = text.size();
    if (auto done = communicator.broadcast(&length, &length, 1, DataType::u64, 0); !done) return to_string(done.error());
    std::vector<char> first(length);
    const auto sent = communicator.broadcast(text.data(), first.data(), std::min<std::uint64_t>(length, text.size()), DataType::u8, 0);
    if (!sent) return to_string(sent.error());
    return text == std::string(first.begin(), first.end()) ? "" : "ranks know different machines";
  };
  std::vector<ChildBody> bodies;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) bodies.push_back([&, rank] { return rank_on(rank); });
  CHECK(complaints(run_children(bodies)) == "");
}

// What is seen of ranks from outside, and what is made of it.
#include "rondo/inspect.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;
using namespace std::chrono_literals;

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Inspects this process's jobs until what is said of them is enough; "" then, else the last that was said. 20 s at most.
std::string says(std::int64_t process, const std::function<bool(const std::string&)>& enough) {
  std::string last;
  for (int turn = 0; turn < 200; ++turn) {
    const auto ranks = inspect({process});
    last = ranks ? explain(*ranks) : to_string(ranks.error());
    if (enough(last)) return "";
    std::this_thread::sleep_for(100ms);
  }
  return "said:\n" + last;
}

std::string says(std::int64_t process, const std::vector<std::string>& parts) {
  return says(process, [&](const std::string& text) {
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return mentions(text, part); });
  });
}

/// Ranks as processes that run until they are told to end.
class Job {
 public:
  Job(std::uint32_t ranks, const RankBody& body) {
    const std::string job = fresh_job();
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      children_.push_back(start_child([=]() -> std::string {
        auto communicator = Communicator::local(rank, ranks, job);
        return communicator ? body(*communicator) : to_string(communicator.error());
      }));
  }
  ~Job() {
    for (const Child& child : children_) kill(child.process, SIGKILL);
    for (const Child& child : children_) (void)answer_of(child, std::chrono::steady_clock::now() + 10s);
  }
  std::int64_t process(std::size_t rank) const { return children_[rank].process; }
  std::string name(std::size_t rank) const { return "rank " + std::to_string(rank) + " (process " + std::to_string(process(rank)); }

 private:
  std::vector<Child> children_;
};

SeenRank made_up(std::uint32_t rank, std::uint64_t call, std::uint64_t finished, std::optional<std::uint32_t> waits_for = {}) {
  SeenRank seen;
  seen.process = 100 + rank;
  seen.rank = rank;
  seen.size = 3;
  seen.state = "running";
  seen.call = call;
  seen.finished = finished;
  seen.operation = "barrier";
  if (waits_for) seen.wait = SeenWait{*waits_for, 2, 0, 0, 5};
  return seen;
}

}  // namespace

TEST_CASE("from outside it is seen which rank has not entered a call that the others are in") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(300'000, 1);
    for (int call = 0; call < 2; ++call) (void)communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32);
    if (communicator.rank() == 2) std::this_thread::sleep_for(60s);
    (void)communicator.broadcast(values.data(), values.data(), 1000, DataType::f32, 2);
    return "";
  };
  const Job job(3, body);
  CHECK(says(job.process(0), {"of 3 ranks: call #3 has not been entered by " + job.name(2) + ")",
                                job.name(1) + ") is in #3, broadcast of 1000 f32 from rank 2",
                                job.name(2) + ") is in no call; its last was #2, all_reduce of 300000 f32 (sum)"}) == "");
}

TEST_CASE("from outside it is seen for whom ranks wait in a call, at which step, and that this one is stopped") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(1'000'000, 1);
    for (;;) (void)communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32);
  };
  const Job job(3, body);
  REQUIRE(says(job.process(1), {"all_reduce of 1000000 f32 (sum)"}) == "");
  kill(static_cast<pid_t>(job.process(1)), SIGSTOP);
  // wherever it was stopped, it is the one that is waited for
  const std::string stopped = job.name(1) + ", stopped by a signal)";
  CHECK(says(job.process(0), [&](const std::string& text) {
    return mentions(text, "in the end all wait for " + stopped) || mentions(text, "has not been entered by " + stopped);
  }) == "");
}

TEST_CASE("from outside it is seen that a rank has died, and what the others say of it") {
  const auto body = [](Communicator& communicator) -> std::string {
    (void)communicator.barrier();
    if (communicator.rank() == 1) raise(SIGKILL);
    (void)communicator.barrier();
    std::this_thread::sleep_for(60s);
    return "";
  };
  const Job job(3, body);
  CHECK(says(job.process(2), {job.name(0) + ") failed: rank 1 (process " + std::to_string(job.process(1)), "died during or before barrier (#2)"}) == "");
}

TEST_CASE("split communicators are seen with their ranks, and threads as ranks of one process") {
  const auto body = [](Communicator& communicator) -> std::string {
    auto half = communicator.split(static_cast<std::int32_t>(communicator.rank() % 2));
    if (communicator.rank() != 2) (void)(**half).barrier();
    std::this_thread::sleep_for(60s);
    return "";
  };
  const Job job(4, body);
  CHECK(says(job.process(0), {"communicator 0 of 4 ranks: nobody waits", "communicator 1 of 2 ranks: call #1 has not been entered by rank 1 (process " +
                                                                              std::to_string(job.process(2)) + ")"}) == "");
  auto threads = Communicator::in_process(2);
  REQUIRE(threads);
  const auto here = inspect({getpid()});
  REQUIRE(here);
  CHECK(here->size() == 2);
}

TEST_CASE("a process that can't be inspected is named") {
  for (const auto& [process, why] : {std::pair<std::int64_t, std::string>{999'999'999, "no such process"}, {1, "process 1: "}}) {
    const auto ranks = inspect({process});
    REQUIRE_FALSE(ranks);
    CHECK(mentions(to_string(ranks.error()), why));
  }
}

TEST_CASE("who holds a call up is found whatever the ranks say") {
  const auto verdict = [](const std::vector<SeenRank>& ranks) { return explain(ranks); };
  CHECK(verdict({}).empty());
  CHECK(mentions(verdict({made_up(0, 4, 4), made_up(1, 4, 4), made_up(2, 4, 4)}), "nobody waits"));
  CHECK(mentions(verdict({made_up(0, 5, 4), made_up(2, 5, 4)}), "call #5 has not been entered by rank 1 (nothing is to be seen"));
  CHECK(mentions(verdict({made_up(0, 5, 4, 1), made_up(1, 5, 4, 2), made_up(2, 5, 4)}), "in the end all wait for rank 2 (process 102)"));
  CHECK(mentions(verdict({made_up(0, 5, 4, 1), made_up(1, 5, 4, 0), made_up(2, 5, 4, 1)}), "in a circle"));
  CHECK(mentions(verdict({made_up(0, 5, 4, 77), made_up(1, 5, 4), made_up(2, 5, 4)}), "rank 77, of which nothing is to be seen"));
  CHECK(mentions(verdict({made_up(0, 5, 4), made_up(1, 5, 4), made_up(2, 5, 4)}), "none has waited long"));
  SeenRank failed = made_up(1, 4, 4);
  failed.state = "failed";
  failed.last_words = "rank 2 died";
  const std::string text = verdict({made_up(0, 5, 4), failed, made_up(2, 5, 4)});
  CHECK(mentions(text, "has not been entered by rank 1 (process 101), which has failed"));
  CHECK(mentions(text, "rank 1 (process 101) failed: rank 2 died"));
}

TEST_CASE("flight records of several ranks are joined, and say which of them the others waited for") {
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 1;
    (void)communicator.all_reduce(&value, &value, 1, DataType::f32);
    (void)communicator.set_timeout(300ms);
    if (communicator.rank() == 2) std::this_thread::sleep_for(1s);
    else (void)communicator.barrier();
    return communicator.flight_record();
  };
  std::string log = "the program's own words\n";
  for (const std::string& record : run_processes(3, body)) log += record + "and more of them\n";
  const auto ranks = read_records(log);
  REQUIRE(ranks);
  CHECK(ranks->size() == 3);
  const std::string text = explain(*ranks);
  INFO(log << text);
  CHECK(mentions(text, "of 3 ranks: call #2 has not been entered by rank 2 (process "));
  CHECK(mentions(text, "barrier (#2) did not end within 300 ms"));
  CHECK(mentions(text, "; it was in #2, barrier"));
  CHECK(mentions(text, "is in no call; its last was #1, all_reduce of 1 f32 (sum)"));
}

TEST_CASE("what ranks log when they fail is a record, too, and shows ranks that disagree and ranks of which there is none") {
  const auto log_of = [](const std::string& rank, const std::string& operation) {
    return "12:00:00.1 rondo error: rank " + rank + ": mismatch: they disagree\nlast operations of rank " + rank + " of 3 (process 7" + rank +
           " on host), communicator 70.5/2.1; failed\n#4 barrier by one_shot: done\n#5 " + operation + " by tree: failed (waited 3 us)\n" +
           "#1 send_recv of 5 f32 with rank 1 by one_shot: running\n#6 barrier by one_shot: queued\n";
  };
  const auto both = read_records(log_of("0", "barrier") + log_of("1", "broadcast of 5 f32 from rank 0"));
  REQUIRE(both);
  CHECK(mentions(explain(*both), "communicator 2 of 3 ranks: ranks disagree in call #5: rank 0 (process 70) called barrier, rank 1 (process 71) called "
                                 "broadcast"));
  CHECK(mentions(explain(*both), "rank 1 (process 71) failed: mismatch: they disagree; it was in #5, broadcast of 5 f32 from rank 0"));
  const auto one = read_records(log_of("0", "barrier") + "\r\n" + log_of("0", "barrier"));
  REQUIRE(one);
  CHECK(one->size() == 1);
  CHECK(mentions(explain(*one), "call #5 has not been entered by rank 1 (nothing is to be seen of it: it died, or was never there), rank 2"));
}

TEST_CASE("text without a flight record is refused, and one that is cut off is read as far as it goes") {
  const std::string whole = "last operations of rank 1 of 2 (process 7 on host), communicator 7.5; not failed\n#1 barrier by one_shot: running\n";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const auto ranks = read_records(whole.substr(0, length));
    CHECK((ranks || ranks.error().code == Errc::invalid_argument));
  }
  REQUIRE(read_records(whole));
  CHECK(read_records(whole)->front().operation == "barrier");
  CHECK_FALSE(read_records("last operations of rank 2 of 2 (process 7 on host), communicator 7.5; not failed\n"));
  CHECK_FALSE(read_records("last operations of rank 99999999999 of 2 (process 7 on host), communicator 7.5; not failed\n"));
}

// Work::on_end: who hears of a call's end, when, and what may be done there. Deadlines that change under way.
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;
using namespace std::chrono_literals;

Call sum_of(std::vector<float>& values) { return Call{Collective::all_reduce, values.data(), values.data(), values.size(), DataType::f32, ReduceOp::sum}; }

/// Waits for a number that another thread counts up; 30 s at most.
bool reaches(const std::atomic<int>& number, int goal) {
  for (int turn = 0; turn < 30'000 && number.load() < goal; ++turn) std::this_thread::sleep_for(1ms);
  return number.load() == goal;
}

/// Starts `left` all_reduces more, each when the one before has ended.
struct Chain {
  Communicator& communicator;
  std::vector<float> values;
  std::atomic<int> told{0};
  int left;
  Work last;
  void go_on() {
    if (left-- == 0) return;
    last = communicator.start(sum_of(values));
    last.on_end([this] {
      ++told;
      go_on();
    });
  }
};

}  // namespace

TEST_CASE("whoever asked is told once of each started call's end, by whichever thread sees it", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> told{0}, late{0};
      std::vector<std::vector<float>> buffers(4, std::vector<float>(3000, 1));
      std::vector<Work> works;
      for (auto& buffer : buffers) works.push_back(communicator.start(sum_of(buffer)));
      for (Work& work : works)
        work.on_end([&, &mine = work] { mine.done() ? ++told : ++late; });
      if (round % 2 == 0)
        if (auto waited = works.back().wait(); !waited) return to_string(waited.error());
      if (!reaches(told, 4)) return "told of " + std::to_string(told) + " ends of 4, " + std::to_string(late) + " too early";
      Work ended = works.front();
      ended.on_end([&] { ++told; });
      if (told != 5) return "not told at once of a call that has ended";
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a rank leaves with its communicator, whoever keeps its works", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() == 1) {
      std::vector<float> values(10, 1);
      if (auto done = communicator.run(sum_of(values)); !done) return to_string(done.error());
      return expect_error(communicator.barrier(), Errc::peer_failed, {"rank 0", "left"});
    }
    std::vector<float> values(10, 1);
    std::optional<Communicator> own(std::move(communicator));
    Work kept = own->start(sum_of(values)), waited_for = kept;
    if (auto done = waited_for.wait(); !done) return to_string(done.error());
    own.reset();
    std::this_thread::sleep_for(200ms);  // the other rank learns of it meanwhile
    bool told = false;
    kept.on_end([&] { told = true; });
    return kept.done() && kept.wait() && told ? "" : "a work that had ended changed with its communicator";
  };
  CommunicatorOptions options;
  options.timeout = 10s;
  SECTION("as threads") CHECK(complaints(run_threads(2, body, options)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, options)) == "");
}

TEST_CASE("works of a communicator that was destroyed have ended, badly where nobody came, and their waits end", "[threads]") {
  CommunicatorOptions options;
  options.timeout = 300ms;
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(1s);
      return "";
    }
    std::vector<float> values(100'000, 1), others(100'000, 1);
    std::optional<Communicator> own(std::move(communicator));
    Work first = own->start(sum_of(values)), second = own->start(sum_of(others));
    std::atomic<int> told{0};
    second.on_end([&] { ++told; });
    std::string of_waiter;
    std::thread waiter([&] { of_waiter = first.wait() ? "a call ended well without the other rank" : ""; });
    std::this_thread::sleep_for(20ms);
    own.reset();
    waiter.join();
    if (!of_waiter.empty()) return of_waiter;
    if (!first.done() || !second.done() || told != 1) return "not all has ended, or " + std::to_string(told) + " ends were told of";
    return second.wait() ? "a call ended well without the other rank" : "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, options)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, options)) == "");
}

TEST_CASE("the longest time limit there is, is a long one, and none is no limit", "[threads]") {
  CommunicatorOptions options;
  options.timeout = options.bootstrap_timeout = std::chrono::nanoseconds::max();
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(10, 1);
    if (communicator.rank() == 1) std::this_thread::sleep_for(20ms);
    Work work = communicator.start(sum_of(values));
    if (auto done = work.wait_for(std::chrono::nanoseconds::max()); !done) return to_string(done.error());
    auto copy = communicator.duplicate();
    return copy ? "" : to_string(copy.error());
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, options)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, options)) == "");
  for (const auto wrong : {0ns, -1ns}) {
    for (auto field : {&CommunicatorOptions::timeout, &CommunicatorOptions::bootstrap_timeout}) {
      CommunicatorOptions given;
      given.*field = wrong;
      const auto made = Communicator::in_process(1, given);
      REQUIRE_FALSE(made.has_value());
      CHECK(made.error().code == Errc::invalid_argument);
      CHECK(to_string(made.error()).find("timeout is " + std::to_string(wrong.count()) + " ns; accepted: above 0") != std::string::npos);
    }
  }
}

TEST_CASE("calls are started from where the end of others is told", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    Chain chain{communicator, std::vector<float>(100, 1), {}, 20, {}};
    chain.go_on();
    // Another call of this thread meanwhile: the chain's ends are told by whoever turns the crank.
    std::vector<float> other(10, 1);
    std::uint32_t peer = (communicator.rank() + 1) % communicator.size();
    if (auto sent = communicator.send(other.data(), other.size(), DataType::f32, peer); !sent) return to_string(sent.error());
    peer = (communicator.rank() + communicator.size() - 1) % communicator.size();
    if (auto taken = communicator.recv(other.data(), other.size(), DataType::f32, peer); !taken) return to_string(taken.error());
    return reaches(chain.told, 20) ? "" : "the chain ended after " + std::to_string(chain.told);
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("what hears of an end may wait for calls that it starts, in ways that the library doesn't see", "[threads]") {
  enum class Main { waits_elsewhere, waits_for_the_work, is_in_a_call };
  const auto body = [](Main main) {
    return [main](Communicator& communicator) -> std::string {
      const std::uint32_t peer = 1 - communicator.rank();
      for (int round = 0; round < 10; ++round) {
        std::vector<std::vector<float>> values(3, std::vector<float>(500, 1));
        std::vector<Work> works(3);
        std::atomic<int> told{0};
        std::atomic<bool> in_time{true};
        works[0] = communicator.start(sum_of(values[0]));
        works[0].on_end([&] {
          works[1] = communicator.start(sum_of(values[1]));
          works[1].on_end([&] {
            works[2] = communicator.start(sum_of(values[2]));
            works[2].on_end([&] { ++told; });
            if (!reaches(told, 1)) in_time = false;
            ++told;
          });
          if (!reaches(told, 2)) in_time = false;
          ++told;
        });
        if (main == Main::waits_for_the_work)
          if (auto done = works[0].wait(); !done) return to_string(done.error());
        if (main == Main::is_in_a_call) {
          float in = 0, out = 5;
          if (communicator.rank() == 1) std::this_thread::sleep_for(2ms);
          if (auto sent = communicator.send(&out, 1, DataType::f32, peer); !sent) return to_string(sent.error());
          if (auto taken = communicator.recv(&in, 1, DataType::f32, peer); !taken) return to_string(taken.error());
        }
        if (!reaches(told, 3)) return "told of " + std::to_string(told) + " ends of 3";
        if (!in_time) return "a call that was started there didn't end meanwhile";
        if (values[2][499] != 2) return "a wrong sum";
      }
      return "";
    };
  };
  const auto cases = {Main::waits_elsewhere, Main::waits_for_the_work, Main::is_in_a_call};
  SECTION("as threads") {
    for (const Main main : cases) CHECK(complaints(run_threads(2, body(main))) == "");
  }
  SECTION("as processes") {
    for (const Main main : cases) CHECK(complaints(run_processes(2, body(main))) == "");
  }
}

TEST_CASE("one who waits for a message tells of ends that the message needs", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    const std::uint32_t peer = 1 - communicator.rank();
    std::vector<float> values(50, 1);
    float in = 0, out = 5;
    Work sent;
    std::atomic<int> told{0};
    Work work = communicator.start(sum_of(values));
    work.on_end([&] {
      sent = communicator.start_send(&out, 1, DataType::f32, peer);
      ++told;
    });
    if (auto taken = communicator.recv(&in, 1, DataType::f32, peer); !taken) return to_string(taken.error());
    if (!reaches(told, 1)) return "not told";
    if (auto done = sent.wait(); !done) return to_string(done.error());
    return in == 5 ? "" : "got " + std::to_string(in);
  };
  for (int round = 0; round < 20; ++round) CHECK(complaints(run_threads(2, body)) == "");
}

TEST_CASE("the last handles of a communicator may go where a call's end is told", "[threads]") {
  auto ranks = Communicator::in_process(2);
  REQUIRE(ranks);
  std::vector<std::vector<float>> values(2, std::vector<float>(1000, 1));
  std::atomic<int> told{0};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    auto own = std::make_shared<std::pair<Communicator, Work>>(std::move((*ranks)[rank]), Work());
    own->second = own->first.start(sum_of(values[rank]));
    Work work = own->second;
    work.on_end([own = std::move(own), &told]() mutable {
      own.reset();
      ++told;
    });
  }
  CHECK(reaches(told, 2));
  CHECK(values[0] == std::vector<float>(1000, 2));
}

TEST_CASE("a deadline that was changed holds for the calls after it", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto nothing = communicator.set_timeout(0ns); nothing || nothing.error().code != Errc::invalid_argument) return "no time at all was accepted";
    if (communicator.rank() == 1) {  // would come when the other one has given up
      std::this_thread::sleep_for(1500ms);
      return "";
    }
    if (auto set = communicator.set_timeout(300ms); !set) return to_string(set.error());
    return expect_error(communicator.barrier(), Errc::deadline_exceeded, {"300 ms", "rank 1"});
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a started call keeps the deadline it was started with", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (communicator.rank() == 1) std::this_thread::sleep_for(700ms);
    std::vector<float> values(10, 1);
    Work work = communicator.start(sum_of(values));
    if (auto set = communicator.set_timeout(50ms); !set) return to_string(set.error());
    const auto done = work.wait();
    return done ? "" : to_string(done.error());
  };
  CHECK(complaints(run_threads(2, body)) == "");
}

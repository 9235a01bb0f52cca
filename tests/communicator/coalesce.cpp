// Small started all_reduces that run together: results, agreement between ranks that are not at the same place, and failures.
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "communicator/trial.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;
using namespace std::chrono_literals;

CommunicatorOptions coalescing(std::uint64_t bytes, std::chrono::nanoseconds time = {}) {
  CommunicatorOptions options;
  options.coalesce_bytes = bytes;
  options.coalesce_time = time;
  return options;
}

/// Buffers whose sums are known: element i of call k holds (rank + 1) (k + i mod 13), whole numbers that any type holds exactly.
struct Sum {
  Sum(Communicator& communicator, std::size_t count, std::size_t call, bool in_place)
      : ranks(communicator.size()), number(call), in(count), out(in_place ? 0 : count) {
    for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>((communicator.rank() + 1) * (number + i % 13));
  }
  Work start(Communicator& communicator) { return communicator.start(call()); }
  Call call() { return {Collective::all_reduce, in.data(), out.empty() ? in.data() : out.data(), in.size()}; }
  std::string check() const {
    const auto& got = out.empty() ? in : out;
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != static_cast<float>(ranks * (ranks + 1) / 2 * (number + i % 13)))
        return "call " + std::to_string(number) + " has " + std::to_string(got[i]) + " at " + std::to_string(i) + " of " + std::to_string(got.size());
    return "";
  }
  std::uint32_t ranks;
  std::size_t number;
  std::vector<float> in, out;
};

std::string together(Communicator& communicator) {
  const std::uint64_t before = calls_of(communicator);
  std::vector<Sum> sums;
  for (std::size_t k = 0; k < 64; ++k) sums.emplace_back(communicator, 256, k, k % 2 == 0);
  communicator.group_begin();
  for (Sum& sum : sums) (void)sum.start(communicator);
  if (auto done = communicator.group_end(); !done) return to_string(done.error());
  for (const Sum& sum : sums)
    if (auto wrong = sum.check(); !wrong.empty()) return wrong;
  // 64 KiB go at most into one call: two batches, each with its agreement
  const std::uint64_t calls = calls_of(communicator) - before;
  return calls == 4 ? "" : "64 all_reduces took " + std::to_string(calls) + " calls\n" + communicator.flight_record();
}

/// All_reduces of all sorts among other calls, at each rank's own pace; each rank waits for them as it likes.
std::string mixed_sums(Communicator& communicator, std::uint32_t rounds) {
  std::mt19937 shared(5), own(communicator.rank() + 17);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::vector<Sum> sums;
    const std::size_t calls = 1 + shared() % 20;
    for (std::size_t k = 0; k < calls; ++k) {
      const std::size_t count = std::vector<std::size_t>{1, 3, 200, 1500, 9000}[shared() % 5];
      sums.emplace_back(communicator, count, k, shared() % 2 == 0);
    }
    std::vector<Work> works;
    for (std::size_t k = 0; k < calls; ++k) {
      const auto kind = shared() % 12;
      if (kind == 0) {  // one that isn't started
        if (auto done = communicator.run(sums[k].call()); !done) return to_string(done.error());
        works.emplace_back();
      } else {
        works.push_back(sums[k].start(communicator));
      }
      if (kind == 1) {
        const Shape other{moving_collectives[shared() % std::size(moving_collectives)], DataType::i32, ReduceOp::max, 0, 0, 0, shared() % 3000};
        if (auto wrong = perform(communicator, Trial{other, false, shared()}); !wrong.empty()) return wrong;
      }
      if (own() % 4 == 0)
        if (auto done = works[own() % works.size()].wait(); !done) return to_string(done.error());
      if (own() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 300));
    }
    for (std::size_t k = 0; k < calls; ++k) {
      if (auto done = works[k].wait(); !done) return to_string(done.error());
      if (auto wrong = sums[k].check(); !wrong.empty()) return "round " + std::to_string(round) + ": " + wrong;
    }
  }
  return "";
}

/// Rank 0 waits for each call before it starts the next; the others have started all of them by then.
std::string one_by_one(Communicator& communicator) {
  std::vector<Sum> sums;
  for (std::size_t k = 0; k < 50; ++k) sums.emplace_back(communicator, 100, k, false);
  std::vector<Work> works;
  for (Sum& sum : sums) {
    works.push_back(sum.start(communicator));
    if (communicator.rank() == 0)
      if (auto done = works.back().wait(); !done) return to_string(done.error());
  }
  for (std::size_t k = 0; k < works.size(); ++k) {
    if (auto done = works[k].wait(); !done) return to_string(done.error());
    if (auto wrong = sums[k].check(); !wrong.empty()) return wrong;
  }
  return "";
}

/// Each call reads what the one before it wrote, or overwrites what it read.
std::string chained_sums(Communicator& communicator) {
  const auto ranks = static_cast<float>(communicator.size());
  std::vector<float> a(300, 1), b(300, 0), c(300, 7);
  communicator.group_begin();
  (void)communicator.start({Collective::all_reduce, a.data(), b.data(), a.size()});  // b = n
  (void)communicator.start({Collective::all_reduce, b.data(), b.data(), b.size()});  // b = n²
  (void)communicator.start({Collective::all_reduce, c.data(), a.data(), a.size()});  // a = 7 n
  (void)communicator.start({Collective::all_reduce, b.data(), c.data(), c.size()});  // c = n³
  if (auto done = communicator.group_end(); !done) return to_string(done.error());
  if (a[299] != 7 * ranks || b[0] != ranks * ranks || c[150] != ranks * ranks * ranks)
    return "got " + std::to_string(a[299]) + ", " + std::to_string(b[0]) + ", " + std::to_string(c[150]);
  return "";
}

}  // namespace

TEST_CASE("started all_reduces that follow one another run as one call on a list", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {2u, 3u}) CHECK(complaints(run_threads(ranks, together, coalescing(32 << 10))) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 4u}) CHECK(complaints(run_processes(ranks, together, coalescing(32 << 10))) == "");
  }
}

TEST_CASE("coalesced calls are right among others, at any pace, held back or not", "[threads]") {
  constexpr std::uint32_t rounds = sanitized ? 15 : 60;
  const auto body = [](Communicator& communicator) { return mixed_sums(communicator, rounds); };
  SECTION("as threads") {
    CHECK(complaints(run_threads(2, body, coalescing(8 << 10))) == "");
    CHECK(complaints(run_threads(3, body, coalescing(8 << 10, 1ms))) == "");
  }
  SECTION("as processes") {
    CHECK(complaints(run_processes(2, body, coalescing(8 << 10))) == "");
    CHECK(complaints(run_processes(4, body, coalescing(100'000, 1ms))) == "");
  }
}

TEST_CASE("a rank that waits for each call before it starts the next is no reason to wait for ever", "[threads]") {
  SECTION("as threads") CHECK(complaints(run_threads(3, one_by_one, coalescing(64 << 10))) == "");
  SECTION("as processes") {
    CHECK(complaints(run_processes(2, one_by_one, coalescing(64 << 10))) == "");
    CHECK(complaints(run_processes(3, one_by_one, coalescing(64 << 10, 2ms))) == "");
  }
}

TEST_CASE("calls that read or overwrite one another's memory keep their order", "[threads]") {
  SECTION("as threads") CHECK(complaints(run_threads(2, chained_sums, coalescing(64 << 10))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, chained_sums, coalescing(64 << 10))) == "");
}

TEST_CASE("a call that nobody waits for is held back until its time is over, or others are enough", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<Sum> sums;
    for (std::size_t k = 0; k < 40; ++k) sums.emplace_back(communicator, 256, k, true);
    const std::uint64_t before = calls_of(communicator);
    std::vector<Work> works;
    for (std::size_t k = 0; k < 5; ++k) {
      works.push_back(sums[k].start(communicator));
      std::this_thread::sleep_for(5ms);
    }
    while (!works.back().done()) std::this_thread::yield();  // which is no waiting
    // 2 where nothing stops the ranks for a second; 10 if none had been held back
    if (const std::uint64_t calls = calls_of(communicator) - before; calls > 6) return "5 calls within their time took " + std::to_string(calls);
    for (std::size_t k = 5; k < 40; ++k) works.push_back(sums[k].start(communicator));
    for (Work& work : works)
      if (auto done = work.wait(); !done) return to_string(done.error());
    for (const Sum& sum : sums)
      if (auto wrong = sum.check(); !wrong.empty()) return wrong;
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, coalescing(64 << 10, 1000ms))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, coalescing(64 << 10, 1000ms))) == "");
}

TEST_CASE("calls of other lengths that come to the same sum are no match", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> first(200, 1), second(200, 1);
    const std::uint64_t counts[] = {100, 200};
    const std::uint32_t odd = communicator.rank() == 1 ? 1 : 0;
    communicator.group_begin();
    (void)communicator.start({Collective::all_reduce, first.data(), first.data(), counts[odd]});
    (void)communicator.start({Collective::all_reduce, second.data(), second.data(), counts[1 - odd]});
    return expect_error(communicator.group_end(), Errc::mismatch, {"put together from other calls"});
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, coalescing(4096))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body, coalescing(4096))) == "");
}

TEST_CASE("a list on one rank goes with a buffer on another where calls are coalesced", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    Sum before(communicator, 64, 1, true), sum(communicator, 256, 2, true), after(communicator, 64, 3, true);
    std::vector<Work> works{before.start(communicator)};
    const Tensor parts[] = {{sum.in.data(), sum.in.data(), 100}, {sum.in.data() + 100, sum.in.data() + 100, 156}};
    works.push_back(communicator.rank() == 0 ? communicator.start_all_reduce_fused({parts}) : sum.start(communicator));
    works.push_back(after.start(communicator));
    for (Work& work : works)
      if (auto done = work.wait(); !done) return to_string(done.error());
    return before.check() + sum.check() + after.check();
  };
  SECTION("as processes") CHECK(complaints(run_processes(2, body, coalescing(4096))) == "");
}

TEST_CASE("a batch that no plan serves leaves its members to themselves", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    const auto topology = with_ranks(communicator.topology(), communicator.size());
    const Request request{Collective::all_reduce, communicator.size(), 64, DataType::f32};
    const auto plan = make_plan(topology, cost_model(topology, communicator.size()), PlanLimits{}, request, "inline");
    if (!plan) return to_string(plan.error());
    if (auto used = communicator.use_plan(*plan); !used) return to_string(used.error());
    std::vector<Sum> sums;
    for (std::size_t k = 0; k < 40; ++k) sums.emplace_back(communicator, 64, k, false);
    communicator.group_begin();
    for (Sum& sum : sums) (void)sum.start(communicator);
    if (auto done = communicator.group_end(); !done) return to_string(done.error());
    for (const Sum& sum : sums)
      if (auto wrong = sum.check(); !wrong.empty()) return wrong;
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, coalescing(64 << 10))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, coalescing(64 << 10))) == "");
}

TEST_CASE("a call that is held back runs when its communicator goes", "[threads]") {
  auto options = coalescing(4096, 1000ms);
  options.timeout = 600ms;
  auto ranks = Communicator::in_process(2, options);
  REQUIRE(ranks);
  std::vector<float> values[2] = {std::vector<float>(100, 1), std::vector<float>(100, 2)};
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Communicator communicator = std::move((*ranks)[rank]);
      (void)communicator.start({Collective::all_reduce, values[rank].data(), values[rank].data(), 100});
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(values[0] == std::vector<float>(100, 3));
  CHECK(values[1] == std::vector<float>(100, 3));
}

TEST_CASE("ranks whose coalesced calls differ learn it, and so do those whose peers don't come, leave or abort", "[threads]") {
  const auto differ = [](Communicator& communicator) -> std::string {
    std::vector<float> first(100, 1), second(100, 1);
    Work a = communicator.start({Collective::all_reduce, first.data(), first.data(), communicator.rank() == 0 ? 100u : 99u});
    Work b = communicator.start({Collective::all_reduce, second.data(), second.data(), 100});
    (void)a.wait();
    auto done = b.wait();
    return expect_error(done, Errc::mismatch, {"all_reduce"});
  };
  const auto aborted = [](Communicator& communicator) -> std::string {
    std::vector<float> data(100, 1);
    Work work = communicator.start({Collective::all_reduce, data.data(), data.data(), data.size()});
    if (communicator.rank() == 0) communicator.abort();
    return expect_error(work.wait(), Errc::aborted, {});
  };
  const auto alone = [](Communicator& communicator) -> std::string {
    std::vector<float> data(100, 1);
    if (communicator.rank() == 0) {
      std::this_thread::sleep_for(1500ms);
      return "";
    }
    Work first = communicator.start({Collective::all_reduce, data.data(), data.data(), data.size()});
    if (auto wrong = expect_error(first.wait(), Errc::deadline_exceeded, {"rank 0"}); !wrong.empty()) return wrong;
    return expect_error(communicator.all_reduce(data.data(), data.data(), data.size(), DataType::f32), Errc::deadline_exceeded, {});
  };
  auto patient = coalescing(4096);
  patient.timeout = 500ms;
  SECTION("as threads") {
    CHECK(complaints(run_threads(2, differ, coalescing(4096))) == "");
    CHECK(complaints(run_threads(2, aborted, coalescing(4096, 200ms))) == "");
    CHECK(complaints(run_threads(2, alone, patient)) == "");
  }
  SECTION("as processes") {
    CHECK(complaints(run_processes(2, differ, coalescing(4096))) == "");
    CHECK(complaints(run_processes(2, aborted, coalescing(4096, 200ms))) == "");
    CHECK(complaints(run_processes(2, alone, patient)) == "");
  }
}

TEST_CASE("nonsense among coalesced calls is said to its caller", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> data(100, 1);
    const Call missing{Collective::all_reduce, nullptr, data.data(), 100};
    const Call overlapping{Collective::all_reduce, data.data(), data.data() + 1, 50};
    const Call unknown{Collective::all_reduce, data.data(), data.data(), 100, static_cast<DataType>(77)};
    for (const Call& call : {missing, overlapping, unknown}) {
      if (auto wrong = expect_error(communicator.run(call), Errc::invalid_argument, {}); !wrong.empty()) return wrong;
      if (auto wrong = expect_error(communicator.start(call).wait(), Errc::invalid_argument, {}); !wrong.empty()) return wrong;
    }
    Sum after(communicator, 100, 3, false);
    if (auto done = communicator.run(after.call()); !done) return to_string(done.error());
    return after.check();
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, coalescing(4096))) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, coalescing(4096))) == "");
}

TEST_CASE("what ranks coalesce must be equal, and the time sensible") {
  CHECK(Communicator::in_process(2, coalescing(4096, std::chrono::seconds(2))).error().detail.find("coalesce_time") != std::string::npos);
  CHECK(Communicator::in_process(2, coalescing(std::uint64_t{1} << 40)).error().detail.find("coalesce_bytes") != std::string::npos);
  CHECK(Communicator::in_process(2, coalescing(4096, -1ms)).error().code == Errc::invalid_argument);
  const std::string job = fresh_job();
  const auto unlike = run_processes(1, [&](Communicator&) -> std::string {
    std::vector<std::string> said(2);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        const auto made = Communicator::local(rank, 2, job, coalescing(rank == 0 ? 4096 : 8192));
        said[rank] = made ? "it was made" : expect_error(made.error(), Errc::mismatch, {"4096", "8192"});
      });
    for (std::thread& thread : threads) thread.join();
    return said[0] + said[1];
  });
  CHECK(complaints(unlike) == "");
}

// The clock of the day may jump: whatever is timed here is timed by one that doesn't.
#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

#if !defined(RONDO_SANITIZED)  // sanitizers have a clock_gettime of their own

namespace {

using namespace rondo;

/// How far the clock of the day is ahead, in seconds, in this process.
std::atomic<std::int64_t> ahead{0};

}  // namespace

/// In the place of the C library's, for all that this program is made of.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += ahead.load(std::memory_order_relaxed);
  return result;
}

TEST_CASE("jumps of the clock change neither results nor deadlines") {
  CommunicatorOptions options;
  options.timeout = std::chrono::milliseconds(700);
  options.bootstrap_timeout = std::chrono::seconds(20);
  const std::string job = fresh_job();
  const auto rank_of = [&](std::uint32_t rank) {
    return [=]() -> std::string {
      std::atomic<bool> over{false};
      std::thread jumps([&] {
        for (std::int64_t turn = 0; !over; ++turn) {
          ahead = turn % 2 == 0 ? 86'400 : -86'400;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      });
      const auto ended = [&](std::string answer) {
        over = true;
        jumps.join();
        return answer;
      };
      auto communicator = Communicator::local(rank, 2, job, options);
      if (!communicator) return ended("creation: " + to_string(communicator.error()));
      std::vector<float> values(1u << 18, 1);
      for (std::uint32_t i = 0; i < 50; ++i) {
        if (i % 10 == rank) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a wait that looks at the clock
        Work work = communicator->start(Call{Collective::all_reduce, values.data(), values.data(), values.size(), DataType::f32, ReduceOp::max});
        if (auto done = work.wait(); !done) return ended("call " + std::to_string(i) + ": " + to_string(done.error()));
      }
      if (rank == 1) {
        std::this_thread::sleep_for(std::chrono::seconds(3));
        return ended("");
      }
      const auto begin = std::chrono::steady_clock::now();
      const Result<void> late = communicator->barrier();
      const double passed = seconds_since(begin);
      if (passed < 0.6 || passed > 2.5) return ended("a deadline of 0.7 s came after " + std::to_string(passed) + " s");
      return ended(expect_error(late, Errc::deadline_exceeded, {"rank 1 ", "has not entered"}));
    };
  };
  CHECK(complaints(run_children({rank_of(0), rank_of(1)})) == "");
}

#endif

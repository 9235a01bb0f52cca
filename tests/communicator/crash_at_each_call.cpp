// A rank that is killed as it is about to make its n-th system call, for every n.
#include <cstdio>

#include "base/clock.hpp"
#include "crash_trial.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/shared.hpp"
#include "support/traced.hpp"

namespace {

using namespace crash;

constexpr std::uint64_t small = 8, large = (sanitized ? 2u : 64u) << 20;

std::string at_a_call(const Trial& trial, const std::string& job, Moment moment, Followed& followed) {
  return run_traced([&] { return live(trial, job, pass_mark); }, moment, trial.death, followed);
}

/// `stride` of rank 1; and of the two others, who have other parts in a creation.
void kill_all(std::uint64_t bytes, std::uint64_t stride, std::uint64_t others_stride) {
  if (const std::string hindrance = hindrance_of_tracing(); !hindrance.empty()) {
    std::printf("rondo-skip: %s\n", hindrance.c_str());
    return;
  }
  const auto offset = static_cast<std::uint64_t>(rondo::now_ns() / 1'000'000);  // another one each time: in the long run all calls are tried
  const Stage stage(bytes);
  const Shared<Tally> tally;
  CHECK(kill_at_each(stage, 1, at_a_call, {stride, offset}, *tally) == "");
  CHECK(kill_at_each(stage, 0, at_a_call, {others_stride, offset}, *tally) == "");
  CHECK(kill_at_each(stage, 2, at_a_call, {others_stride, offset}, *tally) == "");
  std::printf("system calls, %zu B: %s\n", static_cast<std::size_t>(bytes), describe(*tally).c_str());
}

}  // namespace

TEST_CASE("a rank killed at any system call of its life is named to all within a second, and the others make a new communicator") {
  SECTION("8 B") kill_all(small, sanitized ? 15 : 4, sanitized ? 30 : 12);
  SECTION("64 MiB") kill_all(large, sanitized ? 120 : 40, sanitized ? 240 : 120);
}

TEST_CASE("a rank killed at each system call of its life is named to all within a second, and the others make a new communicator", "[.soak]") {
  SECTION("8 B") kill_all(small, 1, 1);
  SECTION("64 MiB") kill_all(large, 1, 12);
}

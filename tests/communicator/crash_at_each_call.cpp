// A rank that is killed as it is about to make its n-th system call, for every n.
#include <cstdio>

#include "crash_trial.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/traced.hpp"

namespace {

using namespace crash;

std::string at_a_call(const CrashTrial& trial, const std::string& job, Moment moment, Followed& followed) {
  return run_traced([&] { return live(trial, job, pass_mark); }, moment, trial.death, followed);
}

void kill_at_calls(std::uint64_t bytes, std::uint64_t stride, std::uint64_t others_stride) {
  if (const std::string hindrance = hindrance_of_tracing(); !hindrance.empty()) {
    std::printf("rondo-skip: %s\n", hindrance.c_str());
    return;
  }
  kill_all(at_a_call, "system calls", bytes, stride, others_stride);
}

}  // namespace

TEST_CASE("a rank killed at any system call of its life is named to all within a second, and the others make a new communicator") {
  SECTION("8 B") kill_at_calls(small_bytes, sanitized ? 15 : 4, sanitized ? 30 : 12);
  SECTION("64 MiB") kill_at_calls(large_bytes, sanitized ? 120 : 40, sanitized ? 240 : 120);
}

TEST_CASE("a rank killed at each system call of its life is named to all within a second, and the others make a new communicator", "[.soak]") {
  SECTION("8 B") kill_at_calls(small_bytes, 1, 1);
  SECTION("64 MiB") kill_at_calls(large_bytes, 1, 12);
}

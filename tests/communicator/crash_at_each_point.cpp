// A rank that is killed at a change of its state, for every change that the library passes: debug and sanitized builds name them.
#include <cstring>

#include "base/crash_point.hpp"
#include "crash_trial.hpp"
#include "support/catch.hpp"

namespace {

using namespace crash;

constexpr std::uint64_t fewest_changes = 200;  // of a life

/// The victim's, which is a process of its own and has one at a time.
struct Fate {
  Moment moment;
  const Death* death = nullptr;
  Followed* followed = nullptr;
  std::atomic<int> mark = 0;
};
Fate fate;

/// Any thread may come here.
void pass_point(const char* place) {
  Followed& followed = *fate.followed;
  const int mark = fate.mark;
  if (mark == 0) return;
  const std::uint64_t step = ++followed.steps[mark];
  const bool tells = std::strcmp(place, "bootstrap: hello sent") == 0 || std::strcmp(place, "bootstrap: hello answered") == 0;
  if (tells && followed.heard_after == 0) followed.heard_after = step;
  if (mark != fate.moment.mark || step != fate.moment.number) return;
  followed.died = true;
  std::strncpy(followed.place, place, sizeof followed.place - 1);
  fate.death->come();
}

std::string at_a_point(const CrashTrial& trial, const std::string& job, Moment moment, Followed& followed) {
  fate.moment = moment;
  fate.death = &trial.death;
  fate.followed = &followed;
  rondo::crash_hook.store(pass_point);
  return live(trial, job, [](int part) { fate.mark = part; });
}

std::uint64_t kill_at_points(std::uint64_t bytes, std::uint64_t stride, std::uint64_t others_stride) {
  return kill_all(at_a_point, "changes of state", bytes, stride, others_stride);
}

}  // namespace

TEST_CASE("a rank killed at any change of its state is named to all within a second, and the others make a new communicator") {
  if (!rondo::has_crash_points) return;  // tools/test runs it sanitized
  SECTION("8 B") CHECK(kill_at_points(small_bytes, 8, 24) >= fewest_changes);
  SECTION("64 MiB") CHECK(kill_at_points(large_bytes, 40, 120) >= fewest_changes);
}

TEST_CASE("a rank killed at each change of its state is named to all within a second, and the others make a new communicator", "[.soak]") {
  REQUIRE(rondo::has_crash_points);
  SECTION("8 B") CHECK(kill_at_points(small_bytes, 1, 1) >= fewest_changes);
  SECTION("64 MiB") CHECK(kill_at_points(large_bytes, 1, 12) >= fewest_changes);
}

// Sleeping waits: a signal wakes whoever sleeps, and who doesn't sleep leaves no trace.
#include <chrono>
#include <thread>

#include "executor/context.hpp"
#include "executor/layouts.hpp"
#include "support/catch.hpp"

using namespace rondo;
using test::bare_layout;

namespace {

constexpr std::int64_t for_ever_ns = 900'000'000;

}  // namespace

TEST_CASE("a sleeper says so, sleeps, and is woken by a peer that looks after its signal") {
  SleepWord word{0};
  std::vector<std::byte> area(bare_layout.total_bytes() + line_pair);
  Context peer(bare_layout, 0, {area.data(), nullptr}, {0, 1}, nullptr);
  CHECK(peer.wake_peers() == 0);
  peer.sleepers = {&word};
  CHECK(peer.wake_peers() == 0);  // nobody says that he sleeps
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    Sleep sleep(&word);
    while (!over) sleep.turn(for_ever_ns, for_ever_ns);
  });
  long woken = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (woken == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) woken = peer.wake_peers();
  CHECK(woken == 1);
  over = true;
  sleeper.join();
  CHECK(word == 0);
}

TEST_CASE("a wait that ends before its thread slept takes back what it said") {
  SleepWord word{0};
  {
    Sleep sleep(&word);
    sleep.turn(for_ever_ns, for_ever_ns);
    CHECK(word == 1);
    sleep.end();
    CHECK(word == 0);
    sleep.turn(for_ever_ns, for_ever_ns);
    CHECK(word == 1);
  }
  CHECK(word == 0);
}

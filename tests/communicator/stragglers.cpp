// A rank that is late is named, and not taken for a dead one.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "communicator/stopped.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

/// The page whose first touch stops the process, and its size.
void* trap = nullptr;
std::size_t trap_size = 0;

Stopped* straggler = nullptr;

/// Opens the page again and stops this process.
void stop_at_the_trap(int /*signal*/) {
  mprotect(trap, trap_size, PROT_READ | PROT_WRITE);
  straggler->stop();
}

/// This process is stopped when the page of `value` is touched: in the middle of the call, however slow the machine is.
void stop_at(float* value) {
  trap_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const inside = reinterpret_cast<std::byte*>(value);
  trap = inside - reinterpret_cast<std::uintptr_t>(inside) % trap_size;
  signal(SIGSEGV, stop_at_the_trap);
  mprotect(trap, trap_size, PROT_NONE);
}

/// What a rank says for a straggler that stands at the end of everybody's waits.
std::string names_rank_2(const std::string& said) {
  for (const std::string word :
       {"has waited for 5 s: this rank is at lane 0, step ", "waiting for rank ", "rank 2 (process ", "(stopped by a signal), which is behind its signal "})
    if (said.find(word) == std::string::npos) return "'" + word + "' is missing in: " + said;
  return said.find("has waited") == said.rfind("has waited") ? "" : "it was said twice: " + said;
}

}  // namespace

TEST_CASE("a rank that is stopped in the middle of a call is named after five seconds by all that wait for it, through others too, and the call ends well") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(16u << 20, 1);
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    if (communicator.rank() == 2) {
      Stopped::go_on_after(7);
      stop_at(values.data() + values.size() / 2);
    }
    Result<void> done;
    const std::string said = said_during([&] { done = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32); });
    if (!done) return to_string(done.error());
    for (const float value : values)
      if (value != 4) return "a wrong sum";
    if (communicator.rank() == 2) return said.empty() ? "" : "the one that was stopped says: " + said;
    return names_rank_2(said);
  };
  straggler = Stopped::shared(0);
  REQUIRE(straggler != nullptr);
  CHECK(complaints(run_processes(4, body, forced("ring"))) == "");
  Stopped::release(straggler);
}

TEST_CASE("a rank that is stopped while it writes into others' symmetric memory changes nothing there once their call has failed and they have gone on") {
  for (const bool broadcasts : {false, true}) {
    CommunicatorOptions options = forced(broadcasts ? "direct_push_pull" : "direct_push");
    options.timeout = std::chrono::seconds(1);
    const auto body = [broadcasts](Communicator& communicator) -> std::string {
      constexpr std::uint64_t count = 4u << 20;
      auto twin = communicator.duplicate();
      auto memory = communicator.allocate(count * sizeof(float));
      if (!twin || !memory) return "no memory";
      auto* const values = static_cast<float*>(memory->get());
      std::fill_n(values, count, 1.0f);
      if (auto done = communicator.barrier(); !done) return to_string(done.error());
      const std::int64_t begin = now_ns();
      if (communicator.rank() == 2) stop_at(values + count * 5 / 6);  // in the last third, which is its part
      Result<void> done;
      while (done)  // others may have made what would have stopped it
        done = broadcasts ? communicator.broadcast(values, values, count, DataType::f32, 2) : communicator.all_reduce(values, values, count, DataType::f32);
      const std::int64_t end = now_ns();
      if (communicator.rank() == 2) {
        straggler->gone_on();
        return "";
      }
      std::fill_n(values, count, 42.0f);
      straggler->let_go();
      if (!straggler->wait()) return "rank 2 hasn't gone on";
      if (end - begin > 5'000'000'000) return "it took " + std::to_string((end - begin) / 1'000'000) + " ms to fail";
      if (std::any_of(values, values + count, [](float value) { return value != 42; })) return "what this rank wrote has changed";
      const auto plan = twin->plan_for(Call{Collective::all_reduce, values, values, count});
      if (!plan || plan->header.protocol == Protocol::direct) return "it counts as memory that peers map";
      memory = Error{};
      auto other = communicator.allocate(count * sizeof(float));
      return !other || other->get() != values ? "" : "its place was given out again";
    };
    INFO((broadcasts ? "broadcast" : "all_reduce"));
    straggler = Stopped::shared(2);
    REQUIRE(straggler != nullptr);
    CHECK(complaints(run_processes(3, body, options)) == "");
    Stopped::release(straggler);
  }
}

TEST_CASE("a rank whose peer is a millisecond late spins or yields, and gives its processor to nobody for longer") {
  constexpr int waits = 60;
  const auto body = [](Communicator& communicator) -> std::string {
    const auto sleeps = [] {
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      return used.ru_nvcsw;
    };
    int slept = 0;
    for (int wait = 0; wait < waits; ++wait) {
      const long before = sleeps();
      const std::int64_t begin = now_ns();
      while (communicator.rank() == 1 && now_ns() - begin < 1'000'000) {}
      if (auto done = communicator.barrier(); !done) return to_string(done.error());
      slept += sleeps() > before ? 1 : 0;
    }
    // A peer that has lost its processor may be five times as late now and then, and a wait that long has many sleeps.
    return slept < waits / 2 ? "" : "slept in " + std::to_string(slept) + " of " + std::to_string(waits) + " waits";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

// A rank that is late is named, and not taken for a dead one.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

/// This process is stopped soon, and goes on some seconds later.
void stop_in_a_moment() {
  const std::string self = std::to_string(getpid());
  (void)!std::system(("(sleep 7; kill -CONT " + self + ") >/dev/null 2>&1 &").c_str());
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    raise(SIGSTOP);
  }).detach();
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
    if (communicator.rank() == 2) stop_in_a_moment();
    Result<void> done;
    const std::string said = said_during([&] { done = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32); });
    if (!done) return to_string(done.error());
    for (const float value : values)
      if (value != 4) return "a wrong sum";
    if (communicator.rank() == 2) return said.empty() ? "" : "the one that was stopped says: " + said;
    return names_rank_2(said);
  };
  CHECK(complaints(run_processes(4, body, forced("ring"))) == "");
}

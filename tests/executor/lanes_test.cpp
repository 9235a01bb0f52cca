// Plans of several lanes wait like others: in all lanes at once.
#include <array>
#include <chrono>
#include <thread>

#include "executor/layouts.hpp"
#include "executor/letters.hpp"
#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"

using namespace rondo;
using namespace rondo::test;

TEST_CASE("a rank looks at all its lanes as often as it may before it says that it is blocked") {
  constexpr std::uint64_t count = 1024;
  const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "tree");
  REQUIRE(plan);
  const std::array<Executable, 2> executables{compiled(*plan, 0, count, staged_layout), compiled(*plan, 1, count, staged_layout)};
  REQUIRE(executables[1].lanes.size() > 1);
  TwoRanks ranks(staged_layout);
  std::vector<float> input(count, 3), root_output(count, 0), output(count, 0);
  const CallIdentity identity{Collective::broadcast, DataType::f32, ReduceOp::sum, 0, count, 1};
  ranks.runs[1].begin(ranks.contexts[1], executables[1], identity, identity.digest(), Binding{nullptr, output.data(), 1});
  REQUIRE(ranks.runs[1].advance(3) == Progress::blocked);  // nobody has sent yet
  Progress received = Progress::blocked;
  std::thread receiver([&] { received = ranks.runs[1].advance(~0u); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ranks.runs[0].begin(ranks.contexts[0], executables[0], identity, identity.digest(), Binding{input.data(), root_output.data(), 1});
  CHECK(ranks.runs[0].advance(0) == Progress::done);
  receiver.join();
  CHECK(received == Progress::done);
  CHECK(output == input);
}

TEST_CASE("over links a rank that waits in several lanes looks once at each, and leaves it to its caller to offer the processor to others in between") {
  constexpr std::uint64_t count = 1024;
  const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "tree", false);
  REQUIRE(plan);
  const Executable executable = compiled_over_links(*plan, 1, count, staged_layout);
  REQUIRE(executable.lanes.size() == 2);
  Post post;
  LinkedRank here(staged_layout, 1, post);
  std::vector<float> output(count, 0);
  const CallIdentity identity{Collective::broadcast, DataType::f32, ReduceOp::sum, 0, count, 1};
  Run run;
  run.begin(here.context, executable, identity, identity.digest(), Binding{nullptr, output.data(), 1});
  CHECK(run.advance(4000) == Progress::blocked);
  CHECK(here.letters.looks == 2);
}

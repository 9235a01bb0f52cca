// Plans of several lanes wait like others: in all lanes at once.
#include <array>
#include <chrono>
#include <thread>

#include "executor/letters.hpp"
#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr ContextLayout layout{8, 8, 64u << 10};
constexpr std::uint64_t count = 1024;

}  // namespace

TEST_CASE("a rank looks at all its lanes as often as it may before it says that it is blocked") {
  const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "tree");
  REQUIRE(plan);
  const std::array<Executable, 2> executables{compiled(*plan, 0, count, layout), compiled(*plan, 1, count, layout)};
  REQUIRE(executables[1].lanes.size() > 1);
  TwoRanks ranks(layout);
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
  const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "tree", false);
  REQUIRE(plan);
  const Executable executable = compiled_over_links(*plan, 1, count, layout);
  REQUIRE(executable.lanes.size() == 2);
  Post post;
  LinkedRank here(layout, 1, post);
  std::vector<float> output(count, 0);
  const CallIdentity identity{Collective::broadcast, DataType::f32, ReduceOp::sum, 0, count, 1};
  Run run;
  run.begin(here.context, executable, identity, identity.digest(), Binding{nullptr, output.data(), 1});
  CHECK(run.advance(4000) == Progress::blocked);
  CHECK(here.letters.looks == 2);
}

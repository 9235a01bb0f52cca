// Plans of several lanes wait like others: in all lanes at once.
#include <array>
#include <chrono>
#include <thread>

#include "executor/compile.hpp"
#include "executor/run.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr ContextLayout layout{8, 8, 64u << 10};
constexpr std::uint64_t count = 1024;

Executable compiled(const Plan& plan, std::uint32_t rank) {
  CompileRequest request;
  request.rank = rank;
  request.count = count;
  request.layout = layout;
  auto executable = compile(lower(plan), request);
  REQUIRE(executable);
  return std::move(*executable);
}

}  // namespace

TEST_CASE("a rank looks at all its lanes as often as it may before it says that it is blocked") {
  const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "tree");
  REQUIRE(plan);
  const std::array<Executable, 2> executables{compiled(*plan, 0), compiled(*plan, 1)};
  REQUIRE(executables[1].lanes.size() > 1);
  struct alignas(line_pair) Line {
    std::byte bytes[line_pair];
  };
  std::array<std::vector<Line>, 2> areas;
  for (auto& area : areas) area.resize(layout.total_bytes() / sizeof(Line));
  std::vector<float> input(count, 3), root_output(count, 0), output(count, 0);
  const CallIdentity identity{Collective::broadcast, DataType::f32, ReduceOp::sum, 0, count, 1};
  std::vector<Context> contexts;
  std::array<Run, 2> runs;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    contexts.emplace_back(layout, rank, std::vector<std::byte*>{areas[0].front().bytes, areas[1].front().bytes}, std::vector<std::uint32_t>{0, 1}, nullptr);
  runs[1].begin(contexts[1], executables[1], identity, identity.digest(), Binding{nullptr, output.data(), 1});
  REQUIRE(runs[1].advance(3) == Progress::blocked);  // nobody has sent yet
  Progress received = Progress::blocked;
  std::thread receiver([&] { received = runs[1].advance(~0u); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  runs[0].begin(contexts[0], executables[0], identity, identity.digest(), Binding{input.data(), root_output.data(), 1});
  CHECK(runs[0].advance(0) == Progress::done);
  receiver.join();
  CHECK(received == Progress::done);
  CHECK(output == input);
}

// A communicator whose links are messages.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "benchmarks/bench/data.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace rondo;

namespace {

CommunicatorOptions over_ucx(const std::string& algorithm = "") {
  setenv("UCX_TLS", "tcp,self", 1);
  CommunicatorOptions options;
  options.transport = "ucx";
  options.algorithm = algorithm;
  options.timeout = std::chrono::seconds(60);
  return options;
}

/// One call on fresh buffers of the exact size; "" or what is wrong with it.
std::string perform(Communicator& communicator, Collective collective, std::uint64_t count, DataType type) {
  static std::uint64_t seed = 0;
  const std::uint32_t root = collective == Collective::broadcast || collective == Collective::reduce
                                 ? static_cast<std::uint32_t>(++seed % communicator.size())
                                 : 0;
  const Shape shape{collective, type, ReduceOp::sum, communicator.size(), communicator.rank(), root, count};
  const BlockCounts blocks = block_counts(collective, shape.ranks);
  std::vector<char> input(blocks.input * count * size_of(type) + 1);
  std::vector<char> output(blocks.output * count * size_of(type) + 1);
  fill_input(shape, seed, input.data());
  const std::string name =
      std::string(to_string(collective)) + " of " + std::to_string(count) + " " + std::string(to_string(type));
  const Call call{collective, input.data(), output.data(), count, type, ReduceOp::sum, root, 1};
  if (auto done = communicator.run(call); !done) return name + ": " + to_string(done.error());
  const std::uint64_t wrong = count_wrong(shape, seed, output.data());
  return wrong == 0 ? "" : name + ": " + std::to_string(wrong) + " wrong";
}

std::string all_collectives(Communicator& communicator) {
  for (const std::uint64_t count : {0u, 1u, 5u, 63u, 257u, 4099u, 100'003u, 1'000'003u})
    for (const Collective collective : {Collective::all_reduce, Collective::broadcast, Collective::reduce,
                                        Collective::all_gather, Collective::reduce_scatter}) {
      const DataType type = count % 2 == 0 ? DataType::f64 : DataType::f32;
      if (std::string wrong = perform(communicator, collective, count, type); !wrong.empty()) return wrong;
      if (auto done = communicator.barrier(); !done) return "barrier: " + to_string(done.error());
    }
  return "";
}

}  // namespace

TEST_CASE("collectives over UCX are right for every algorithm, count and number of ranks") {
  for (const char* algorithm : {"", "ring", "tree", "recursive_doubling", "halving_doubling"})
    for (const std::uint32_t ranks : {2u, 3u}) {
      INFO((*algorithm == 0 ? "the planner's choice" : algorithm) << ", " << ranks << " ranks");
      CHECK(complaints(run_processes(ranks, all_collectives, over_ucx(algorithm))) == "");
    }
}

TEST_CASE("ranks that leave after their last call over UCX harm nobody") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(300'000, 1);
    for (int i = 0; i < 20; ++i)
      if (auto done = communicator.broadcast(values.data(), values.data(), values.size(), DataType::f32, 0); !done)
        return to_string(done.error());
    if (communicator.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20 * communicator.rank()));
    auto done = communicator.barrier();
    return done ? "" : to_string(done.error());
  };
  CHECK(complaints(run_processes(3, body, over_ucx())) == "");
}

TEST_CASE("a different count over UCX is a mismatch on both ranks") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(300'000, 1);
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    const std::uint64_t count = communicator.rank() == 0 ? 100'000 : 100'001;
    const auto begin = std::chrono::steady_clock::now();
    const auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32);
    if (done) return "success";
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) return "took too long";
    return done.error().code == Errc::mismatch ? "" : to_string(done.error());
  };
  CHECK(complaints(run_processes(2, body, over_ucx())) == "");
}

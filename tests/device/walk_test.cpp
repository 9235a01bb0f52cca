#include <cstring>
#include <functional>
#include <random>

#include "benchmarks/bench/data.hpp"
#include "device/host_gpu.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

Topology some_machine() { return Topology{}; }

struct Buffers {
  std::vector<std::vector<std::byte>> inputs, outputs;
};

/// A call on random inputs, and how many elements of its results are wrong; ~0: it has no form.
std::uint64_t wrong_after(HostGpu& gpu, const Plan& plan, const Request& request, std::uint64_t seed, std::string* why = nullptr) {
  const BlockCounts blocks = block_counts(request.collective, request.ranks);
  const std::uint64_t bytes = request.count * size_of(request.type);
  Buffers buffers;
  HostCall call{plan, request.count, request.type, request.op, {}, {}, {}, {}};
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    buffers.inputs.emplace_back(bytes * blocks.input + 64);
    buffers.outputs.emplace_back(bytes * blocks.output + 64, std::byte{0xa5});
    const Shape shape{request.collective, request.type, request.op, request.ranks, rank, request.root, request.count};
    if (has_input(plan.header, rank)) fill_input(shape, seed, buffers.inputs.back().data());
    call.inputs.push_back(buffers.inputs.back().data());
    call.outputs.push_back(buffers.outputs.back().data());
    call.scales.push_back(factor_of(shape, rank));
  }
  if (auto ran = gpu.run(call); !ran) {
    if (why != nullptr) *why = to_string(ran.error());
    return ~std::uint64_t{0};
  }
  std::uint64_t wrong = 0;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    const Shape shape{request.collective, request.type, request.op, request.ranks, rank, request.root, request.count};
    if (gpu.host(rank).report.outcome != 0) {
      if (why != nullptr) *why = "rank " + std::to_string(rank) + " reports outcome " + std::to_string(gpu.host(rank).report.outcome);
      return ~std::uint64_t{0};
    }
    wrong += count_wrong(shape, seed, buffers.outputs[rank].data());
  }
  return wrong;
}

Result<Plan> plan_of(const Request& request, std::string_view algorithm) {
  const Topology machine = some_machine();
  PlanLimits limits;
  limits.staging_bytes = 16u << 10;
  return make_plan(machine, cost_model(machine, request.ranks), limits, request, algorithm);
}

/// Calls of every algorithm and collective, of so many elements; those that `serves` takes. How many there were.
std::uint64_t run_all_plans(HostGpu& gpu, std::uint32_t ranks, std::initializer_list<std::uint64_t> counts, bool direct,
                            const std::function<bool(const Plan&)>& serves) {
  std::uint64_t seed = 1, ran = 0;
  const Collective all[] = {Collective::all_reduce, Collective::reduce,  Collective::broadcast, Collective::reduce_scatter, Collective::all_gather,
                            Collective::all_to_all, Collective::gather, Collective::scatter,   Collective::scan};
  for (const Collective collective : all)
    for (const std::string_view algorithm : algorithm_names())
      for (const std::uint64_t count : counts) {
        Request request;
        request.collective = collective;
        request.ranks = ranks;
        request.count = count;
        request.root = ranks - 1;
        request.symmetric = direct && algorithm.starts_with("direct");
        const auto plan = plan_of(request, algorithm);
        if (!plan || !serves(*plan)) continue;
        std::string why;
        const std::uint64_t wrong = wrong_after(gpu, *plan, request, ++seed, &why);
        INFO(to_string(collective) << " " << algorithm << " count " << count << " " << why);
        REQUIRE(wrong == 0);
        if (gpu.by_turns) CHECK(gpu.rounds >= 2);
        ++ran;
      }
  return ran;
}

}  // namespace

TEST_CASE("every algorithm's plans give right results by blocks") {
  const std::uint32_t ranks = GENERATE(2u, 3u, 4u, 8u);
  const unsigned threads = GENERATE(1u, 3u);
  if (sanitized && (ranks == 3 || ranks == 8 || threads == 1)) return;  // minutes, and nothing new
  HostGpu gpu(ranks, 8, threads);
  gpu.piece_bytes = 4096;
  REQUIRE(run_all_plans(gpu, ranks, {1, 13, 5000}, true, [](const Plan&) { return true; }) > 50);
}

TEST_CASE("every algorithm's plans give right results by turns, where no rank's blocks run beside another's") {
  const std::uint32_t ranks = GENERATE(2u, 3u, 4u, 8u);
  if (sanitized && ranks > 3) return;
  HostGpu gpu(ranks, 8, 1);
  gpu.piece_bytes = 4096;
  gpu.by_turns = true;
  gpu.timeout_ns = 2'000'000'000;
  REQUIRE(run_all_plans(gpu, ranks, {1, 5000, 40000}, false, [](const Plan& plan) { return plan.header.protocol != Protocol::inlined; }) > 50);
}

TEST_CASE("inlined and direct plans, and one whose ranks wait for one another forever, can't run by turns") {
  HostGpu gpu(2, 2, 1);
  gpu.by_turns = true;
  std::vector<float> values(100, 1), results(200);
  Request request;
  request.ranks = 2;
  request.count = 100;
  const auto run = [&](const Plan& plan) {
    const HostCall call{plan, 100, DataType::f32, ReduceOp::sum, {values.data(), values.data()}, {&results[0], &results[100]}, {}, {}};
    const auto ran = gpu.run(call);
    return ran ? "" : to_string(ran.error());
  };
  CHECK(run(*plan_of(request, "inline")).find("inlined") != std::string::npos);
  request.symmetric = true;
  CHECK(run(*plan_of(request, "direct_push")).find("is direct") != std::string::npos);
  request.symmetric = false;
  Plan stuck = *plan_of(request, "one_shot");
  std::vector<Program> programs{stuck.program(0), stuck.program(1)};
  std::erase_if(programs[1].lanes[0].steps, [](const Step& step) { return step.kind == StepKind::signal; });
  CHECK(run(Plan(stuck.header, programs)).find("never ends") != std::string::npos);
  CHECK(run(stuck) == "");
  CHECK(results[150] == 2);
}

TEST_CASE("types and operations give right results by blocks") {
  HostGpu gpu(3, 6, 2);
  std::uint64_t seed = 1;
  for (std::uint8_t t = 0; t < data_type_count; ++t)
    for (std::uint8_t o = 0; o < reduce_op_count; ++o) {
      const auto type = static_cast<DataType>(t);
      const auto op = static_cast<ReduceOp>(o);
      if (!is_defined(op, type)) continue;
      for (const std::string_view algorithm : {"inline", "two_shot", "direct_one_shot"}) {
        Request request;
        request.ranks = 3;
        request.count = algorithm == "inline" ? 19 : 3001;
        request.type = type;
        request.op = op;
        request.symmetric = algorithm.starts_with("direct");
        const auto plan = plan_of(request, algorithm);
        if (!plan) continue;
        INFO(to_string(type) << " " << to_string(op) << " " << algorithm);
        REQUIRE(wrong_after(gpu, *plan, request, ++seed) == 0);
      }
    }
}

TEST_CASE("calls of all kinds follow one another by blocks") {
  HostGpu gpu(4, 8, 1);
  gpu.piece_bytes = 1024;
  std::mt19937 random(5);
  const auto names = algorithm_names();
  for (std::uint64_t seed = 1; seed <= (sanitized ? 40 : 150); ++seed) {
    Request request;
    const Collective all[] = {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                              Collective::reduce,     Collective::scatter,   Collective::gather};
    request.collective = all[random() % 6];
    request.ranks = 4;
    request.count = random() % 4000;
    request.root = random() % 4;
    const std::string_view algorithm = names[random() % names.size()];
    request.symmetric = algorithm.starts_with("direct");
    const auto plan = plan_of(request, algorithm);
    if (!plan) continue;
    INFO(to_string(request.collective) << " " << algorithm << " count " << request.count << " seed " << seed);
    REQUIRE(wrong_after(gpu, *plan, request, seed) == 0);
  }
}

TEST_CASE("a rank that doesn't come is named by those that wait, and ranks that disagree find it out") {
  HostGpu gpu(2, 2, 1);
  Request request;
  request.ranks = 2;
  request.count = 100;
  std::vector<float> values(100, 1), results(200);
  const auto plan = plan_of(request, GENERATE("one_shot", "inline"));
  REQUIRE(plan);
  HostCall call{*plan, 100, DataType::f32, ReduceOp::sum, {values.data(), values.data()}, {&results[0], &results[100]}, {}, {}};
  SECTION("late") {
    gpu.timeout_ns = 50'000'000;
    REQUIRE(gpu.run(call, {1}));
    CHECK(gpu.host(1).report.outcome == static_cast<std::uint64_t>(device::Outcome::deadline_exceeded));
    CHECK(gpu.host(1).report.rank == 0);
    CHECK(gpu.host(1).report.call == 1);
    REQUIRE(gpu.run(call, {0}));  // it comes after all, and finds what it needs; in the next call it hears that the other one has failed
    CHECK(results[99] == 2);
    REQUIRE(gpu.run(call, {0}));
    CHECK(gpu.host(0).report.outcome == static_cast<std::uint64_t>(device::Outcome::peer_failed));
    CHECK(gpu.host(0).report.rank == 1);
  }
  SECTION("disagreeing") {
    call.digests = {1, 2};
    REQUIRE(gpu.run(call));
    const std::uint64_t mismatch = static_cast<std::uint64_t>(device::Outcome::mismatch);
    CHECK((gpu.host(0).report.outcome == mismatch || gpu.host(1).report.outcome == mismatch));
    CHECK(gpu.host(0).report.outcome != 0);
    CHECK(gpu.host(1).report.outcome != 0);
  }
  SECTION("aborted") {
    gpu.host(0).abort = 1;
    REQUIRE(gpu.run(call, {0}));
    CHECK(gpu.host(0).report.outcome == static_cast<std::uint64_t>(device::Outcome::aborted));
  }
}

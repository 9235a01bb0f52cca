// What goes wrong on GPUs is an error that says so.
#include <chrono>

#include "cuda/gpu_ranks.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

Result<void> sum(GpuRank& rank, const GpuBuffer& buffer, std::uint64_t count) {
  return rank.gpu.run({Collective::all_reduce, buffer.data(), buffer.data(), count}, rank.stream);
}

std::string expect(const Result<void>& result, Errc code, const std::string& part) {
  if (result) return "no error; expected one with '" + part + "'";
  const std::string text = to_string(result.error());
  return result.error().code == code && text.find(part) != std::string::npos ? "" : text + "; expected '" + part + "'";
}

}  // namespace

TEST_CASE("a rank that doesn't call is named when the deadline has passed, of the communicator or set since") {
  const bool since = GENERATE(false, true);
  const auto said = run_gpu_ranks(3, [since](GpuRank& rank) -> std::string {
    const GpuBuffer buffer(4096);
    if (since) {
      if (auto wrong = expect(rank.gpu.set_timeout(std::chrono::seconds(0)), Errc::invalid_argument, "a timeout of 0 ns; accepted: above 0"); !wrong.empty())
        return wrong;
      if (auto set = sum(rank, buffer, 1024); !set) return to_string(set.error());  // the plan is made with another
      if (auto set = rank.gpu.set_timeout(std::chrono::milliseconds(200)); !set) return to_string(set.error());
    }
    if (rank.gpu.rank() == 1) return rank.synchronize();
    if (auto started = sum(rank, buffer, 1024); !started) return to_string(started.error());
    (void)cudaStreamSynchronize(rank.stream);
    const auto found = rank.gpu.check();
    if (found) return "no error";
    // Whichever of the two came to its deadline first is what the other one may hear of.
    const bool named = to_string(found.error()).find("rank 1 was waited for in vain") != std::string::npos || found.error().code == Errc::peer_failed;
    return named ? expect(sum(rank, buffer, 1024), found.error().code, "rank") : to_string(found.error());
  }, with_timeout(since ? std::chrono::milliseconds(60'000) : std::chrono::milliseconds(200)));
  for (const auto& one : said) CHECK(one == "");
}

TEST_CASE("ranks that disagree on a GPU call find it out") {
  const std::uint64_t count = GENERATE(2u, 5'000u);
  const auto said = run_gpu_ranks(2, [count](GpuRank& rank) -> std::string {
    const GpuBuffer buffer(1u << 20);
    if (auto started = sum(rank, buffer, count + rank.gpu.rank()); !started) return to_string(started.error());
    (void)cudaStreamSynchronize(rank.stream);
    const auto found = rank.gpu.check();
    if (found) return "no error";
    return found.error().code == Errc::mismatch || found.error().code == Errc::peer_failed ? "" : to_string(found.error());
  }, with_timeout(std::chrono::milliseconds(2000)));
  for (const auto& one : said) CHECK(one == "");
}

TEST_CASE("abort() ends a wait on the GPU, and the peers' waits for that rank") {
  const auto said = run_gpu_ranks(3, [](GpuRank& rank) -> std::string {
    const GpuBuffer buffer(4096);
    if (rank.gpu.rank() != 2)
      if (auto started = sum(rank, buffer, 1024); !started) return to_string(started.error());
    if (rank.gpu.rank() == 2) rank.gpu.abort();
    (void)cudaStreamSynchronize(rank.stream);
    if (rank.gpu.rank() == 2) return expect(rank.gpu.check(), Errc::aborted, "abort()");
    return expect(rank.gpu.check(), Errc::peer_failed, "rank");
  }, with_timeout(std::chrono::milliseconds(20'000)));
  for (const auto& one : said) CHECK(one == "");
}

TEST_CASE("memory that isn't this GPU's, and arguments without sense, are refused by name", "[brief]") {
  const auto said = run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    std::vector<float> host(64);
    const GpuBuffer buffer(1024);
    const Call from_host{Collective::all_reduce, host.data(), buffer.data(), 64};
    if (auto text = expect(rank.gpu.run(from_host, rank.stream), Errc::invalid_argument, "input is not GPU memory"); !text.empty()) return text;
    const Call to_host{Collective::all_reduce, buffer.data(), host.data(), 64};
    if (auto text = expect(rank.gpu.run(to_host, rank.stream), Errc::invalid_argument, "output is not GPU memory"); !text.empty()) return text;
    const Call nothing{Collective::all_reduce, nullptr, buffer.data(), 64};
    if (auto text = expect(rank.gpu.run(nothing, rank.stream), Errc::invalid_argument, "input is null"); !text.empty()) return text;
    const Call overlapping{Collective::all_reduce, buffer.data(), buffer.data() + 4, 64};
    if (auto text = expect(rank.gpu.run(overlapping, rank.stream), Errc::invalid_argument, "overlap"); !text.empty()) return text;
    return sum(rank, buffer, 8) ? rank.synchronize() : "a good call after bad ones failed";
  });
  for (const auto& one : said) CHECK(one == "");
}

TEST_CASE("options that ranks don't share, or that make no sense, are refused on all ranks") {
  auto hosts = Communicator::in_process(1);
  REQUIRE(hosts);
  CudaOptions options;
  options.blocks = 513;
  CHECK(CudaCommunicator::create(hosts->front(), options).error().detail.find("blocks is 513") != std::string::npos);
  options = {};
  options.threads = 100;
  CHECK(CudaCommunicator::create(hosts->front(), options).error().detail.find("threads is 100") != std::string::npos);
  options = {};
  options.device = 99;
  CHECK(CudaCommunicator::create(hosts->front(), options).error().detail.find("device 99") != std::string::npos);
}

TEST_CASE("a broken plan gives wrong results unverified, and is refused otherwise", "[brief]") {
  const auto said = run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    Call call{Collective::all_reduce, nullptr, nullptr, 1000};
    const auto plan = rank.gpu.plan_for(call);
    if (!plan) return to_string(plan.error());
    std::vector<Program> programs;
    bool broken = false;
    for (std::uint32_t r = 0; r < 2; ++r) {
      programs.push_back(plan->program(r));
      for (Lane& lane : programs.back().lanes)
        for (Step& step : lane.steps)
          if (!broken && step.kind == StepKind::reduce) {
            step.sources[1] = step.sources[0];  // rank 0 adds one contribution twice
            broken = true;
          }
    }
    const Plan mutant(plan->header, programs);
    if (auto text = expect(rank.gpu.use_plan(mutant), Errc::invalid_plan, "wrong"); !text.empty()) return text;
    if (auto used = rank.gpu.use_plan(mutant, true); !used) return to_string(used.error());
    std::vector<float> values(1000, rank.gpu.rank() == 0 ? 1.0f : 10.0f);
    const GpuBuffer input(4000), output(4000);
    const_cast<GpuBuffer&>(input).put(values.data(), 4000);
    call.input = input.data();
    call.output = output.data();
    if (auto started = rank.gpu.run(call, rank.stream); !started) return to_string(started.error());
    if (auto text = rank.synchronize(); !text.empty()) return text;
    output.get(values.data(), 4000);
    std::uint64_t wrong = 0;
    for (const float value : values) wrong += value != 11.0f;
    return wrong != 0 || rank.gpu.rank() != 0 ? "" : "the mutant's result is right";
  });
  for (const auto& one : said) CHECK(one == "");
}

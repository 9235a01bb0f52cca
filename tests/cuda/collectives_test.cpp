// What CudaCommunicator computes. All but the first test need a GPU.
#include <random>

#include "cuda/trials.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

TEST_CASE("without a GPU creating a communicator says why it can't", "[no-gpu]") {
  if (has_gpu()) return;
  auto ranks = Communicator::in_process(1);
  REQUIRE(ranks);
  const auto gpu = CudaCommunicator::create(ranks->front());
  REQUIRE_FALSE(gpu);
  CHECK(gpu.error().code == Errc::unsupported);
  CHECK(gpu.error().detail.find("GPUs") != std::string::npos);
}

TEST_CASE("every algorithm gives right results on a GPU") {
  const std::uint32_t ranks = GENERATE(1u, 2u, 3u, 4u, 8u);
  for (const std::string_view algorithm : algorithm_names()) {
    CudaOptions options;
    options.algorithm = algorithm;
    options.blocks = 8;
    INFO(algorithm);
    check_all(run_gpu_ranks(ranks, [&](GpuRank& rank) -> std::string {
      std::uint64_t seed = 0;
      for (const Collective collective : all_collectives)
        for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{37}, std::uint64_t{20'000}})
          for (const bool in_place : {false, true}) {
            Trial trial{collective, DataType::f32, ReduceOp::sum, count, rank.gpu.size() - 1, in_place};
            if (in_place && collective != Collective::all_reduce && collective != Collective::broadcast && collective != Collective::reduce) continue;
            if (auto said = try_once(rank, trial, ++seed); !said.empty()) return said;
          }
      return "";
    }, options));
  }
}

TEST_CASE("types and operations give right results on a GPU", "[brief]") {
  check_all(run_gpu_ranks(4, [&](GpuRank& rank) -> std::string {
    std::uint64_t seed = 0;
    for (std::uint8_t t = 0; t < data_type_count; ++t)
      for (std::uint8_t o = 0; o < reduce_op_count; ++o)
        for (const std::uint64_t count : {std::uint64_t{29}, std::uint64_t{70'001}})
          if (const Trial trial{Collective::all_reduce, static_cast<DataType>(t), static_cast<ReduceOp>(o), count, 0, false}; is_defined(trial.op, trial.type))
            if (auto said = try_once(rank, trial, ++seed); !said.empty()) return said;
    return "";
  }));
}

TEST_CASE("large messages give right results on a GPU") {
  const std::uint32_t ranks = GENERATE(2u, 8u);
  check_all(run_gpu_ranks(ranks, [&](GpuRank& rank) -> std::string {
    std::uint64_t seed = 0;
    for (const bool in_place : {false, true})
      for (const DataType type : {DataType::f32, DataType::bf16})
        if (auto said = try_once(rank, {Collective::all_reduce, type, ReduceOp::sum, 5'000'003, 0, in_place}, ++seed); !said.empty()) return said;
    for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all, Collective::broadcast})
      if (auto said = try_once(rank, {collective, DataType::f32, ReduceOp::sum, 1'000'003, 1, false}, ++seed); !said.empty()) return said;
    return "";
  }));
}

TEST_CASE("calls of all kinds follow one another in a stream without the host's waiting", "[brief]") {
  check_all(run_gpu_ranks(4, [&](GpuRank& rank) -> std::string {
    std::mt19937 random(11);
    for (int round = 0; round < 8; ++round) {
      std::vector<std::unique_ptr<Prepared>> calls;
      for (std::uint64_t k = 0; k < 25; ++k) {
        Trial trial;
        trial.collective = all_collectives[random() % all_collectives.size()];
        trial.count = random() % 3 == 0 ? random() % 100'000 : random() % 300;
        trial.root = random() % 4;
        calls.push_back(prepare(rank, trial, random()));
      }
      if (auto said = try_together(rank, calls); !said.empty()) return said;
    }
    return "";
  }));
}

TEST_CASE("a captured graph is replayed with new data each time", "[brief]") {
  check_all(run_gpu_ranks(2, [&](GpuRank& rank) -> std::string {
    auto tiny = prepare(rank, {Collective::all_reduce, DataType::f32, ReduceOp::sum, 2, 0, false}, 1);
    auto longer = prepare(rank, {Collective::all_reduce, DataType::f32, ReduceOp::sum, 100'000, 0, false}, 2);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    if (cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return "no capture";
    for (const auto* call : {tiny.get(), longer.get()})
      if (auto started = start(rank, *call); !started) return to_string(started.error());
    if (cudaStreamEndCapture(rank.stream, &graph) != cudaSuccess) return "the capture failed";
    if (cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) return "no graph";
    std::string said;
    for (std::uint64_t round = 0; round < 20 && said.empty(); ++round) {
      for (auto* call : {tiny.get(), longer.get()}) {
        std::vector<std::byte> data(call->trial.count * 4);
        call->seed = 100 + round;
        fill_input(call->shape, call->seed, data.data());
        call->input.put(data.data(), data.size());
      }
      if (!rank.host.barrier()) return "the host's barrier failed";
      if (cudaGraphLaunch(ready, rank.stream) != cudaSuccess) return "no launch";
      said = rank.synchronize();
      for (auto* call : {tiny.get(), longer.get()})
        if (said.empty()) said = judge(*call);
    }
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    return said;
  }));
}

TEST_CASE("ranks whose GPU is full when they call come through once it isn't") {
  const std::uint32_t ranks = GENERATE(2u, 4u, 8u);
  check_all(run_gpu_ranks(ranks, [&](GpuRank& rank) -> std::string {
    for (std::uint64_t round = 0; round < 5; ++round) {
      fill_gpu(rank.stream, 2'000'000);
      if (auto said = try_once(rank, {Collective::all_reduce, DataType::f32, ReduceOp::sum, 1'000'000, 0, false}, round); !said.empty()) return said;
    }
    return "";
  }));
}

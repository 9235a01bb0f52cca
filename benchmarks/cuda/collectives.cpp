// All-reduces of ranks that are threads and share one GPU: time a call, stream-ordered and by replays of a graph.
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/data.hpp"
#include "gpu.hpp"
#include "rondo/cuda.hpp"
#include "rondo/formats.hpp"
#include "sections.hpp"
#include "support/median.hpp"

namespace bench_cuda {
namespace {

using namespace rondo;
using nlohmann::json;

constexpr std::uint32_t graph_calls = 20;  ///< of a graph, so that its own start is shared by many
constexpr std::uint64_t bucket_bytes = 25'000'000;
constexpr std::uint32_t bucket_tensors = 200;
constexpr std::uint64_t apart_bytes = 64;  ///< between tensors of a list, which else would be one

struct Case {
  std::uint32_t ranks = 2;
  std::uint64_t bytes = 8;
  bool in_place = false;
  std::uint32_t blocks = 0;  ///< 0: as the options say
  bool graph = false;
  std::uint32_t tensors = 0;  ///< of a list, in place; 0: one buffer
  std::optional<DataType> wire = std::nullopt;  ///< of a list
};

struct Found {
  double us = 0;
  double graph_us = 0;
  double predicted_us = 0;
  std::string algorithm;
  std::uint64_t wrong = 0;
  std::uint32_t blocks = 0;
};

/// One rank of one case. Every rank's loop is the same; what it finds is rank 0's word, of the slowest rank's time.
class Rank {
 public:
  Rank(Communicator& host, CudaCommunicator& gpu, const Case& what, std::barrier<>& together)
      : gpu_(gpu),
        case_(what),
        together_(together),
        shape_{Collective::all_reduce, DataType::f32, ReduceOp::sum, gpu.size(), gpu.rank(), 0, what.bytes / 4},
        sets_(std::max<std::uint64_t>(1, std::min<std::uint64_t>(64, rotated_bytes / gpu.size() / (2 * what.bytes)))),
        set_bytes_(what.bytes + what.tensors * apart_bytes),
        input_(sets_ * set_bytes_),
        output_(sets_ * set_bytes_),
        host_(host) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }
  ~Rank() { (void)cudaStreamDestroy(stream_); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  Found measure() {
    Found found;
    found.blocks = gpu_.blocks();
    if (case_.tensors == 0) {
      const auto plan = gpu_.plan_for(call(0));
      if (!plan) must(plan.error());
      found.algorithm = plan->header.algorithm;
      found.predicted_us = plan->predicted_ns / 1e3;
      found.wrong = check();
    } else {
      found.algorithm = "list of " + std::to_string(case_.tensors) + (case_.wire ? ", " + std::string(to_string(*case_.wire)) : "");
      found.wrong = check_list();
    }
    const std::uint32_t repeats = case_.bytes <= (1u << 20) ? 40 : case_.bytes <= (32u << 20) ? 16 : 6;
    found.us = rounds(9, repeats, [&](std::uint64_t k) { start(k); });
    if (case_.graph) found.graph_us = replays();
    must(gpu_.check());
    return found;
  }

 private:
  void start(std::uint64_t k) {
    if (case_.tensors == 0) return must(gpu_.run(call(k), stream_));
    const std::uint64_t bytes = case_.bytes / case_.tensors;
    std::byte* at = output_.data() + k % sets_ * set_bytes_;
    tensors_.clear();
    for (std::uint32_t t = 0; t < case_.tensors; ++t, at += bytes + apart_bytes) tensors_.push_back({at, at, bytes / sizeof(float)});
    must(gpu_.all_reduce_fused({tensors_, DataType::f32, ReduceOp::sum, 1, case_.wire}, stream_));
  }

  Call call(std::uint64_t k) const {
    const std::uint64_t at = k % sets_ * set_bytes_;
    std::byte* output = output_.data() + at;
    return {Collective::all_reduce, case_.in_place ? output : input_.data() + at, output, case_.bytes / 4};
  }

  /// One call on random numbers.
  std::uint64_t check() {
    std::vector<std::byte> data(case_.bytes);
    fill_input(shape_, 7, data.data());
    const Call first = call(0);
    must(cudaMemcpy(const_cast<void*>(first.input), data.data(), data.size(), cudaMemcpyHostToDevice), "copying");
    together_.arrive_and_wait();
    must(gpu_.run(first, stream_));
    must(cudaStreamSynchronize(stream_), "running a collective");
    must(gpu_.check());
    must(cudaMemcpy(data.data(), first.output, data.size(), cudaMemcpyDeviceToHost), "copying");
    const std::uint64_t wrong = count_wrong(shape_, 7, data.data());
    // In place, values would grow without end.
    must(cudaMemset(first.output, 0, case_.bytes), "zeroing");
    must(cudaStreamSynchronize(nullptr), "zeroing");
    return wrong;
  }

  /// One call on a list whose elements are each rank's number from 1 on, which a wire type has exactly.
  std::uint64_t check_list() {
    const auto ranks = static_cast<float>(gpu_.size());
    std::vector<float> data(set_bytes_ / sizeof(float), static_cast<float>(gpu_.rank() + 1));
    must(cudaMemcpy(output_.data(), data.data(), set_bytes_, cudaMemcpyHostToDevice), "copying");
    together_.arrive_and_wait();
    start(0);
    must(cudaStreamSynchronize(stream_), "running a collective");
    must(gpu_.check());
    must(cudaMemcpy(data.data(), output_.data(), set_bytes_, cudaMemcpyDeviceToHost), "copying");
    std::uint64_t wrong = 0;
    for (const Tensor& tensor : tensors_) {
      const float* const first = data.data() + (static_cast<const std::byte*>(tensor.input) - output_.data()) / static_cast<std::ptrdiff_t>(sizeof(float));
      wrong += static_cast<std::uint64_t>(std::count_if(first, first + tensor.count, [&](float value) { return value != ranks * (ranks + 1) / 2; }));
    }
    must(cudaMemset(output_.data(), 0, set_bytes_), "zeroing");
    must(cudaStreamSynchronize(nullptr), "zeroing");
    return wrong;
  }

  double rounds(std::uint32_t count, std::uint32_t repeats, const std::function<void(std::uint64_t)>& enqueue) {
    std::vector<double> times;
    std::uint64_t k = 0;
    Stopwatch watch;
    for (std::uint32_t round = 0; round <= count; ++round) {
      must(cudaStreamSynchronize(stream_), "waiting");
      together_.arrive_and_wait();
      enqueue(k++);  // ranks come together in it, before the clock starts
      watch.start(stream_);
      for (std::uint32_t i = 0; i < repeats; ++i) enqueue(k++);
      watch.stop(stream_);
      double mine = watch.microseconds() / repeats, slowest = 0;
      must(host_.all_reduce(&mine, &slowest, 1, DataType::f64, ReduceOp::max));
      if (round != 0) times.push_back(slowest);
    }
    return bench_support::median(times);
  }

  double replays() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capturing");
    for (std::uint32_t k = 0; k < graph_calls; ++k) start(k);
    must(cudaStreamEndCapture(stream_, &graph), "capturing");
    must(cudaGraphInstantiate(&ready, graph, 0), "making a graph");
    const double us = rounds(9, 5, [&](std::uint64_t) { must(cudaGraphLaunch(ready, stream_), "launching a graph"); });
    must(cudaStreamSynchronize(stream_), "waiting");
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    return us / graph_calls;
  }

  CudaCommunicator& gpu_;
  const Case case_;
  std::barrier<>& together_;
  const Shape shape_;
  const std::uint64_t sets_, set_bytes_;
  const Buffer input_, output_;
  std::vector<Tensor> tensors_;
  Communicator& host_;
  cudaStream_t stream_ = nullptr;
};

/// Cases with equal numbers of ranks and blocks, on one set of communicators.
std::vector<Found> run_cases(std::uint32_t ranks, std::uint32_t blocks, const CollectiveOptions& options, const std::vector<Case>& cases) {
  auto hosts = Communicator::in_process(ranks);
  if (!hosts) must(hosts.error());
  std::vector<Found> found(cases.size());
  std::barrier<> together(ranks);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      CudaOptions gpu_options;
      gpu_options.device = 0;
      gpu_options.blocks = blocks != 0 ? blocks : options.blocks;
      gpu_options.threads = options.threads;
      gpu_options.piece_bytes = options.piece_bytes;
      gpu_options.algorithm = options.algorithm;
      gpu_options.timeout = std::chrono::seconds(20);
      auto gpu = CudaCommunicator::create((*hosts)[rank], gpu_options);
      if (!gpu) must(gpu.error());
      if (!options.plan.empty()) {
        const auto plan = load_plan(options.plan);
        if (!plan) must(plan.error());
        must(gpu->use_plan(*plan, options.unverified));
      }
      for (std::size_t k = 0; k < cases.size(); ++k) {
        const Found mine = Rank((*hosts)[rank], *gpu, cases[k], together).measure();
        std::uint64_t wrong = mine.wrong, all_wrong = 0;
        must((*hosts)[rank].all_reduce(&wrong, &all_wrong, 1, DataType::u64));
        if (rank != 0) continue;
        found[k] = mine;
        found[k].wrong = all_wrong;
      }
    });
  threads.clear();
  return found;
}

/// The time in which the GPU's copy would read each input once and write each output once.
double floor_us(const Case& of, double copy_bytes_per_s) { return 2e6 * static_cast<double>(of.bytes) * of.ranks / copy_bytes_per_s; }

json report(const std::vector<Case>& cases, const std::vector<Found>& found, double copy) {
  json rows = json::array();
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const Case& of = cases[k];
    const double algbw = static_cast<double>(of.bytes) / found[k].us / 1e3;
    const double busbw = algbw * 2 * (of.ranks - 1) / of.ranks;
    const double part = floor_us(of, copy) / found[k].us;
    std::printf("%6u %12llu %3u %-18s %9.2f %9.2f %9.2f %9.1f %9.1f %6.2f %7llu %s\n", of.ranks, static_cast<unsigned long long>(of.bytes), found[k].blocks,
                found[k].algorithm.c_str(), found[k].us, found[k].graph_us, found[k].predicted_us, algbw, busbw, part,
                static_cast<unsigned long long>(found[k].wrong), of.in_place ? "in place" : "");
    rows.push_back({{"ranks", of.ranks}, {"bytes", of.bytes}, {"in_place", of.in_place}, {"blocks", found[k].blocks}, {"algorithm", found[k].algorithm},
                    {"tensors", of.tensors}, {"us", found[k].us}, {"graph_us", found[k].graph_us}, {"predicted_us", found[k].predicted_us},
                    {"algbw_gb_per_s", algbw}, {"busbw_gb_per_s", busbw}, {"part_of_floor", part}, {"wrong", found[k].wrong}});
  }
  std::fflush(stdout);
  return rows;
}

}  // namespace

json measure_collectives(double copy, const CollectiveOptions& options) {
  std::printf("all_reduce f32 sum, ranks are threads that share the GPU; floor: its copy of every input and output\n");
  std::printf("%6s %12s %3s %-18s %9s %9s %9s %9s %9s %6s %7s\n", "ranks", "bytes", "blk", "plan", "us", "graph us", "predicted", "algbw", "busbw", "floor/t",
              "wrong");
  json rows = json::array();
  const auto add = [&](std::uint32_t blocks, const std::vector<Case>& cases) {
    for (auto& row : report(cases, run_cases(cases.front().ranks, blocks, options, cases), copy)) rows.push_back(row);
  };
  for (const std::uint32_t ranks : options.ranks) {
    std::vector<Case> cases;
    for (std::uint64_t bytes = 8; bytes <= (256u << 20); bytes *= options.quick ? 64 : 8)
      for (const bool in_place : {false, true})
        if (!in_place || bytes >= (1u << 20)) cases.push_back({ranks, bytes, in_place, 0, bytes <= (1u << 20)});
    for (const bool in_place : {false, true}) cases.push_back({ranks, 64u << 20, in_place, 0, false});
    cases.push_back({ranks, bucket_bytes, true, 0, false});
    for (const std::optional<DataType> wire : {std::optional<DataType>(), std::optional(DataType::bf16)})
      if (options.plan.empty()) cases.push_back({ranks, bucket_bytes, true, 0, false, bucket_tensors, wire});
    add(0, cases);
  }
  if (!options.quick)
    for (const std::uint32_t blocks : {4u, 8u, 16u, 32u, 64u, 128u, 256u}) add(blocks, {{2, 64u << 20, false, blocks, false}});
  return rows;
}

}  // namespace bench_cuda

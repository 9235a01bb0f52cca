// All-reduces of lists of tensors in GPU memory, and with a wire type.
#include <algorithm>
#include <random>

#include "cuda/trials.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// A small whole number, which every type has exactly, and sums of 8 of them too.
float contribution(std::uint32_t rank, std::uint64_t element, std::uint64_t seed) { return static_cast<float>((element * 7 + rank * 3 + seed) % 8); }

/// Tensors of f32 in one piece of GPU memory, apart by some elements; this rank's own cuts.
class ListOnGpu {
 public:
  ListOnGpu(const GpuRank& rank, std::uint64_t count, std::uint64_t seed, std::size_t longest)
      : rank_(rank.gpu.rank()), ranks_(rank.gpu.size()), count_(count), seed_(seed), host_(2 * count + 64 * 1024), memory_(host_.size() * sizeof(float)) {
    std::mt19937_64 random(seed * 31 + rank_);
    float* const base = reinterpret_cast<float*>(memory_.data());
    std::size_t at = 0;
    for (std::uint64_t begin = 0; begin < count;) {
      const std::uint64_t length = std::min<std::uint64_t>(count - begin, 1 + random() % longest);
      at += 1 + random() % 5;
      for (std::uint64_t i = 0; i < length; ++i) host_[at + i] = contribution(rank_, begin + i, seed);
      tensors.push_back({base + at, base + at, length});
      places_.push_back(at);
      at += length;
      begin += length;
    }
    memory_.put(host_.data(), host_.size() * sizeof(float));
  }

  Bucket bucket(ReduceOp op, std::optional<DataType> wire) const { return {tensors, DataType::f32, op, 1, wire}; }

  /// "" or what is wrong behind a sum, or an average.
  std::string judge(ReduceOp op) {
    memory_.get(host_.data(), host_.size() * sizeof(float));
    std::uint64_t element = 0;
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (std::uint64_t i = 0; i < tensors[t].count; ++i, ++element) {
        float right = 0;
        for (std::uint32_t r = 0; r < ranks_; ++r) right += contribution(r, element, seed_);
        if (op == ReduceOp::avg) right /= static_cast<float>(ranks_);
        const float got = host_[places_[t] + i];
        if (got == right) continue;
        return "element " + std::to_string(element) + " of " + std::to_string(count_) + " is " + std::to_string(got) + ", not " + std::to_string(right);
      }
    return "";
  }

  std::vector<Tensor> tensors;

 private:
  std::uint32_t rank_, ranks_;
  std::uint64_t count_, seed_;
  std::vector<float> host_;
  GpuBuffer memory_;
  std::vector<std::size_t> places_;
};

std::string reduced_right(GpuRank& rank) {
  std::uint64_t seed = 0;
  for (const std::optional<DataType> wire : {std::optional<DataType>(), std::optional(DataType::f16), std::optional(DataType::bf16)})
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{5'000}, std::uint64_t{200'003}})
      for (const std::size_t longest : {count / 100 + 1, count})  // many tensors, and few or one
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
          if (op == ReduceOp::avg && rank.gpu.size() % 2 != 0) continue;  // a third isn't exact
          ListOnGpu list(rank, count, ++seed, longest);
          const std::string what = std::to_string(count) + " in " + std::to_string(list.tensors.size()) + " tensors: ";
          if (auto started = rank.gpu.all_reduce_fused(list.bucket(op, wire), rank.stream); !started) return what + to_string(started.error());
          if (auto said = rank.synchronize(); !said.empty()) return what + said;
          if (auto said = list.judge(op); !said.empty()) return what + said;
        }
  return "";
}

/// What the call says, or else what check() does behind it.
std::string refusal(GpuRank& rank, const Bucket& bucket) {
  if (auto started = rank.gpu.all_reduce_fused(bucket, rank.stream); !started) return to_string(started.error());
  (void)cudaStreamSynchronize(rank.stream);
  const auto found = rank.gpu.check();
  return found ? "" : to_string(found.error());
}

std::string expect_refused(GpuRank& rank, const Bucket& bucket, const char* words) {
  const std::string said = refusal(rank, bucket);
  return said.find(words) != std::string::npos ? "" : "expected '" + std::string(words) + "', got '" + said + "'";
}

}  // namespace

TEST_CASE("lists of tensors are reduced on a GPU where they lie, with a wire type or without, however each rank cuts them", "[brief]") {
  check_all(run_gpu_ranks(GENERATE(1u, 2u, 3u, 4u), reduced_right));
}

TEST_CASE("lists and other calls on a GPU follow one another in a stream", "[brief]") {
  check_all(run_gpu_ranks(3, [](GpuRank& rank) -> std::string {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      ListOnGpu first(rank, 3'000, seed, 40), second(rank, 60'000, seed + 50, 900);
      const auto between = prepare(rank, {Collective::all_gather, DataType::i32, ReduceOp::sum, 1'000, 0, false}, seed);
      if (auto started = rank.gpu.all_reduce_fused(first.bucket(ReduceOp::sum, std::nullopt), rank.stream); !started) return to_string(started.error());
      if (auto started = start(rank, *between); !started) return to_string(started.error());
      if (auto started = rank.gpu.all_reduce_fused(second.bucket(ReduceOp::sum, DataType::bf16), rank.stream); !started) return to_string(started.error());
      if (auto said = rank.synchronize(); !said.empty()) return said;
      for (const std::string& said : {first.judge(ReduceOp::sum), judge(*between), second.judge(ReduceOp::sum)})
        if (!said.empty()) return said;
    }
    return "";
  }));
}

TEST_CASE("a graph keeps the list that was captured", "[brief]") {
  check_all(run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    ListOnGpu list(rank, 10'000, 3, 500), other(rank, 10'000, 4, 500);
    if (auto ready = rank.gpu.all_reduce_fused(other.bucket(ReduceOp::sum, std::nullopt), rank.stream); !ready) return to_string(ready.error());
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    if (cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return "no capture";
    if (auto started = rank.gpu.all_reduce_fused(list.bucket(ReduceOp::sum, std::nullopt), rank.stream); !started) return to_string(started.error());
    if (cudaStreamEndCapture(rank.stream, &graph) != cudaSuccess) return "the capture failed";
    if (cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) return "no graph";
    list.tensors.clear();
    ListOnGpu copy(rank, 10'000, 3, 500);  // cut alike
    if (cudaGraphLaunch(ready, rank.stream) != cudaSuccess) return "no launch";
    std::string said = rank.synchronize();
    list.tensors = copy.tensors;
    if (said.empty()) said = list.judge(ReduceOp::sum);
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    return said;
  }));
}

TEST_CASE("lists that make no sense on a GPU are refused by name, and the communicators work on", "[brief]") {
  check_all(run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    ListOnGpu list(rank, 5'000, 1, 50);
    float outside[4] = {};
    std::vector<Tensor> tensors = list.tensors;
    tensors[1] = {outside, outside, 4};
    if (auto wrong = expect_refused(rank, {tensors}, "tensor 1's input is not GPU memory"); !wrong.empty()) return wrong;
    tensors[1] = {list.tensors[1].input, list.tensors[0].output, 1};
    if (auto wrong = expect_refused(rank, {tensors}, "the outputs of tensors 0 and 1 overlap"); !wrong.empty()) return wrong;
    if (auto wrong = expect_refused(rank, {list.tensors, DataType::i32}, "on GPUs they are of f32, f16 or bf16"); !wrong.empty()) return wrong;
    if (auto wrong = expect_refused(rank, {list.tensors, DataType::f32, ReduceOp::max, 1, DataType::bf16}, "accepted: sum, avg and premul_sum"); !wrong.empty())
      return wrong;
    ListOnGpu many(rank, 5'000, 1, 2);
    if (auto wrong = expect_refused(rank, many.bucket(ReduceOp::sum, std::nullopt), "on GPUs there may be 900"); !wrong.empty()) return wrong;
    if (auto said = refusal(rank, list.bucket(ReduceOp::sum, std::nullopt)); !said.empty()) return said;
    return list.judge(ReduceOp::sum);
  }));
}

TEST_CASE("lists go by a plan that was brought along where it serves them", "[brief]") {
  check_all(run_gpu_ranks(2, [](GpuRank& rank) -> std::string {
    ListOnGpu list(rank, 5'000, 1, 50);
    Request request;
    request.ranks = 2;
    request.count = 5'000;
    auto plan = make_plan(Topology{}, cost_model(Topology{}, 2), PlanLimits{}, request, "ring");
    if (!plan) return to_string(plan.error());
    if (auto used = rank.gpu.use_plan(*plan); !used) return to_string(used.error());
    if (auto said = refusal(rank, list.bucket(ReduceOp::sum, std::nullopt)); !said.empty()) return said;
    if (auto wrong = list.judge(ReduceOp::sum); !wrong.empty()) return wrong;
    if (auto wrong = expect_refused(rank, list.bucket(ReduceOp::sum, DataType::bf16), "where a plan was brought along"); !wrong.empty()) return wrong;
    plan->header.in_place = false;
    if (auto used = rank.gpu.use_plan(*plan); !used) return to_string(used.error());
    return expect_refused(rank, list.bucket(ReduceOp::sum, std::nullopt), "the imported plan is for separate buffers only");
  }));
}

TEST_CASE("ranks that disagree on a list's wire type, or call it beside one buffer's, find it out on a GPU") {
  const bool by_wire = GENERATE(true, false);
  check_all(run_gpu_ranks(2, [by_wire](GpuRank& rank) -> std::string {
    ListOnGpu list(rank, 5'000, 1, 50);
    const GpuBuffer one(5'000 * sizeof(float));
    if (!by_wire && rank.gpu.rank() == 0) {
      if (auto started = rank.gpu.run({Collective::all_reduce, one.data(), one.data(), 5'000}, rank.stream); !started) return to_string(started.error());
      (void)cudaStreamSynchronize(rank.stream);
      const auto found = rank.gpu.check();
      return !found && (found.error().code == Errc::mismatch || found.error().code == Errc::peer_failed) ? "" : "no mismatch on rank 0";
    }
    const std::string said = refusal(rank, list.bucket(ReduceOp::sum, by_wire && rank.gpu.rank() == 0 ? std::optional(DataType::bf16) : std::nullopt));
    return said.find("mismatch") != std::string::npos || said.find("has failed") != std::string::npos ? "" : "expected a mismatch, got '" + said + "'";
  }, with_timeout(std::chrono::seconds(5))));
}

TEST_CASE("processes that share a GPU reduce lists by turns", "[.][processes]") { check_all(run_gpu_processes(GENERATE(2u, 3u), reduced_right)); }

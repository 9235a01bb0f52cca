// Calls on lists of tensors, and with a wire type in the slots, as a GPU's blocks run them.
#include <cmath>
#include <random>

#include "device/host_gpu.hpp"
#include "kernels/cuda/element.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr std::uint64_t elements_in_all = 5'003;
constexpr std::uint64_t staging = 1u << 20;

Result<Plan> plan_by(std::string_view algorithm, std::uint32_t ranks, std::optional<DataType> wire, ReduceOp op = ReduceOp::sum) {
  Request request;
  request.collective = Collective::all_reduce;
  request.ranks = ranks;
  request.count = elements_in_all;
  request.op = op;
  request.wire = wire;
  PlanLimits limits;
  limits.staging_bytes = 16u << 10;
  return make_plan(Topology{}, cost_model(Topology{}, ranks), limits, request, algorithm);
}

/// A rank's tensors, cut and placed at random, some in place.
struct Listed {
  std::vector<std::vector<float>> inputs, outputs;
  SegmentTable table;

  Listed(const std::vector<float>& values, std::mt19937_64& random) {
    inputs.reserve(values.size());
    outputs.reserve(values.size());
    for (std::size_t begin = 0; begin < values.size();) {
      const std::size_t most = random() % 3 == 0 ? 7 : 900;
      const std::size_t count = std::min<std::size_t>(values.size() - begin, 1 + random() % most), before = random() % 4;
      inputs.emplace_back(before + count);
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), count, inputs.back().begin() + static_cast<std::ptrdiff_t>(before));
      const bool in_place = random() % 2 == 0;
      outputs.emplace_back(in_place ? 0 : before + count);
      float* const input = inputs.back().data() + before;
      table.add(input, in_place ? input : outputs.back().data() + before, count * sizeof(float));
      begin += count;
    }
  }

  std::vector<float> result() const {
    std::vector<float> all;
    for (const Segment& segment : table.segments) {
      const auto* const from = reinterpret_cast<const float*>(segment.output);
      all.insert(all.end(), from, from + (segment.end - segment.begin) / sizeof(float));
    }
    return all;
  }
};

float rounded_to(std::optional<DataType> wire, float value) {
  if (wire == DataType::f16) return cuda::widen(cuda::narrow<cuda::F16>(value));
  if (wire == DataType::bf16) return cuda::widen(cuda::narrow<cuda::Bf16>(value));
  return value;
}

/// Contributions first to end - 1 along the tree of docs/design/0009-strict.md.
float along_the_tree(const std::vector<float>& values, std::size_t first, std::size_t end) {
  if (end - first == 1) return values[first];
  std::size_t left = 1;
  while (left * 2 < end - first) left *= 2;
  return along_the_tree(values, first, first + left) + along_the_tree(values, first + left, end);
}

std::vector<std::vector<float>> random_values(std::uint32_t ranks, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0.5f, 2.0f);
  std::vector<std::vector<float>> values(ranks, std::vector<float>(elements_in_all));
  for (auto& of_rank : values)
    for (float& value : of_rank) value = normal(random);
  return values;
}

/// What every rank gets.
std::vector<float> right_for(const std::vector<std::vector<float>>& values, std::string_view algorithm, std::optional<DataType> wire, ReduceOp op,
                             const std::vector<double>& scales) {
  std::vector<float> right(elements_in_all);
  for (std::uint64_t i = 0; i < elements_in_all; ++i) {
    std::vector<float> contributions;
    for (std::size_t rank = 0; rank < values.size(); ++rank)
      contributions.push_back(rounded_to(wire, op == ReduceOp::premul_sum ? values[rank][i] * static_cast<float>(scales[rank]) : values[rank][i]));
    right[i] = along_the_tree(contributions, 0, contributions.size());
    if (op == ReduceOp::avg) right[i] /= static_cast<float>(values.size());
    if (algorithm == "two_shot") right[i] = rounded_to(wire, right[i]);
  }
  return right;
}

}  // namespace

TEST_CASE("a GPU's blocks read and write the tensors of lists where they lie, with slots of the same type or of a narrower one, and get the processor's bits") {
  std::mt19937_64 random(11);
  const ReduceOp ops[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum};
  for (const bool by_turns : {false, true})
    for (const std::uint32_t ranks : {2u, 3u, 5u})
      for (const char* algorithm : {"one_shot", "two_shot"})
        for (const std::optional<DataType> wire : {std::optional<DataType>(), std::optional(DataType::f16), std::optional(DataType::bf16)}) {
          const ReduceOp op = ops[random() % 3];
          INFO(ranks << " ranks, " << algorithm << ", wire " << (wire ? to_string(*wire) : "none") << ", " << to_string(op));
          const auto plan = plan_by(algorithm, ranks, wire, op);
          REQUIRE(plan);
          const auto values = random_values(ranks, random);
          HostCall call{*plan, elements_in_all, DataType::f32, op, {}, {}, {}, {}};
          std::vector<Listed> lists;
          for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            lists.emplace_back(values[rank], random);
            call.lists.push_back(lists.back().table);
            call.scales.push_back(op == ReduceOp::premul_sum ? 0.25 + 0.3 * rank : 1);
          }
          HostGpu gpu(ranks, 4, 2, staging);
          gpu.by_turns = by_turns;
          REQUIRE(gpu.run(call));
          const auto right = right_for(values, algorithm, wire, op, call.scales);
          for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            REQUIRE(gpu.host(rank).report.outcome == 0);
            CHECK(lists[rank].result() == right);
          }
        }
}

TEST_CASE("a GPU's blocks put a narrower type in the slots of a call on one buffer") {
  std::mt19937_64 random(12);
  for (const DataType wire : {DataType::f16, DataType::bf16})
    for (const char* algorithm : {"one_shot", "two_shot"}) {
      const auto plan = plan_by(algorithm, 4, wire, ReduceOp::avg);
      REQUIRE(plan);
      auto values = random_values(4, random);
      const auto right = right_for(values, algorithm, wire, ReduceOp::avg, {});
      HostCall call{*plan, elements_in_all, DataType::f32, ReduceOp::avg, {}, {}, {}, {}};
      for (auto& of_rank : values) {
        call.inputs.push_back(of_rank.data());
        call.outputs.push_back(of_rank.data());
      }
      HostGpu gpu(4, 4, 2, staging);
      REQUIRE(gpu.run(call));
      for (const auto& of_rank : values) CHECK(of_rank == right);
    }
}

TEST_CASE("plans that blocks can't run on lists are refused by name") {
  SegmentTable table;
  std::vector<float> values(2);
  table.add(values.data(), values.data(), 8);
  Request request;
  request.collective = Collective::all_reduce;
  request.ranks = 2;
  request.count = 2;
  const auto plan = make_plan(Topology{}, cost_model(Topology{}, 2), PlanLimits{}, request, "inline");
  REQUIRE(plan);
  HostGpu gpu(2, 4, 1);
  const auto refused = gpu.run(HostCall{*plan, 2, DataType::f32, ReduceOp::sum, {}, {}, {}, {}, {table, table}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unsupported);
  CHECK(refused.error().detail == "plan 'inline' is inlined, and takes no list");
}

// Lists whose contributions go through slots in 16 bits.
#include <cmath>
#include <cstring>
#include <vector>

#include "benchmarks/bench/data.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t wire_counts[] = {1, 150, 5003, sanitized ? 20'011 : 300'007};

/// Half a unit in the last place of 1.
double unit_of(DataType wire) { return wire == DataType::bf16 ? 0x1p-8 : 0x1p-11; }

/// The list of `values` cut in a way of this rank's own, in place.
std::vector<Tensor> cut(Communicator& communicator, std::vector<float>& values) {
  std::vector<Tensor> tensors;
  for (std::uint64_t at = 0, step = 1 + communicator.rank(); at < values.size(); at += step, step = step * 2 + 1) {
    step = std::min(step, values.size() - at);
    tensors.push_back({values.data() + at, values.data() + at, step});
  }
  return tensors;
}

std::string same_on_all_ranks(Communicator& communicator, const std::vector<float>& values) {
  std::vector<float> all(values.size() * communicator.size());
  if (auto done = communicator.all_gather(values.data(), all.data(), values.size(), DataType::f32); !done) return to_string(done.error());
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank)
    if (std::memcmp(values.data(), all.data() + rank * values.size(), values.size() * sizeof(float)) != 0)
      return "rank " + std::to_string(rank) + " has other bits";
  return "";
}

/// One call: the same bits everywhere, and no farther from the sum than each number's rounding and the result's explain.
std::string reduce_by(Communicator& communicator, DataType wire, ReduceOp op, std::uint64_t count) {
  const std::uint32_t ranks = communicator.size();
  std::vector<double> exact(count), magnitude(count);
  std::vector<float> values(count);
  for (std::uint32_t rank = ranks; rank-- > 0;) {  // this rank's own last
    const std::uint32_t whose = (communicator.rank() + rank) % ranks;
    const Shape shape{Collective::all_reduce, DataType::f32, op, ranks, whose, 0, count};
    fill_input(shape, count, values.data());
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(values[i]) * factor_of(shape, whose);
      exact[i] += value;
      magnitude[i] += std::fabs(value);
    }
  }
  const Shape own{Collective::all_reduce, DataType::f32, op, ranks, communicator.rank(), 0, count};
  const double scale = op == ReduceOp::premul_sum ? factor_of(own, communicator.rank()) : 1;
  const std::vector<Tensor> tensors = cut(communicator, values);
  const std::string name = std::string(to_string(op)) + " of " + std::to_string(count) + " by way of " + std::string(to_string(wire));
  if (auto done = communicator.all_reduce_fused({tensors, DataType::f32, op, scale, wire}); !done) return name + ": " + to_string(done.error());
  const double share = op == ReduceOp::avg ? 1.0 / ranks : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double bound = ranks == 1 ? 0 : 2.02 * unit_of(wire) * magnitude[i] * share + 1e-6;
    if (std::fabs(values[i] - exact[i] * share) > bound) return name + ": " + std::to_string(values[i]) + ", not " + std::to_string(exact[i] * share);
  }
  if (auto wrong = same_on_all_ranks(communicator, values); !wrong.empty()) return name + ": " + wrong;
  return "";
}

std::string all_calls(Communicator& communicator) {
  for (const DataType wire : {DataType::bf16, DataType::f16})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum})
      for (const std::uint64_t count : wire_counts)
        if (auto wrong = reduce_by(communicator, wire, op, count); !wrong.empty()) return wrong;
  return "";
}

/// Numbers that the wire holds exactly have exact sums; others show that it was the wire they went through, and which plan did it.
std::string rounds_to_the_wire(Communicator& communicator, const std::string& algorithm) {
  std::vector<float> exact(50'000), fine(50'000, 1 + 0x1p-10f);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = static_cast<float>(i % 17) - 8;
  for (std::vector<float>* values : {&exact, &fine}) {
    const std::vector<Tensor> tensors = cut(communicator, *values);
    const Bucket bucket{tensors, DataType::f32, ReduceOp::sum, 1, DataType::bf16};
    if (auto done = communicator.start_all_reduce_fused(bucket).wait(); !done) return to_string(done.error());
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i] != static_cast<float>(communicator.size()) * (static_cast<float>(i % 17) - 8)) return "an exact sum is " + std::to_string(exact[i]);
    if (fine[i] != static_cast<float>(communicator.size())) return "what bf16 can't hold was not rounded: " + std::to_string(fine[i]);
  }
  const std::string record = communicator.flight_record();
  const bool named = record.find("by way of bf16") != std::string::npos && record.find(algorithm) != std::string::npos;
  return named ? "" : "the record says\n" + record;
}

std::string refused_wires(Communicator& communicator) {
  std::vector<float> values(10);
  const Tensor one[] = {{values.data(), values.data(), 10}};
  const auto call = [&](DataType type, ReduceOp op, DataType wire) { return communicator.all_reduce_fused({one, type, op, 1, wire}); };
  const std::pair<Result<void>, std::string> wrong[] = {
      {call(DataType::f32, ReduceOp::sum, DataType::f32), "accepted: f16 and bf16"},
      {call(DataType::f32, ReduceOp::sum, static_cast<DataType>(99)), "accepted: f16 and bf16"},
      {call(DataType::f16, ReduceOp::sum, DataType::bf16), "tensors of f16; accepted: f32"},
      {call(DataType::f32, ReduceOp::max, DataType::bf16), "with max; accepted: sum, avg and premul_sum"},
  };
  for (const auto& [result, word] : wrong)
    if (auto other = expect_error(result, Errc::invalid_argument, {word}); !other.empty()) return other;
  auto plan = communicator.plan_for(Call{Collective::all_reduce, nullptr, nullptr, 100'000, DataType::f32});
  if (!plan) return to_string(plan.error());
  PlanHeader header = plan->header;
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) programs.push_back(plan->program(rank));
  header.wire = DataType::bf16;
  if (auto other = expect_error(communicator.use_plan(Plan(header, programs)), Errc::unsupported, {"wire type"}); !other.empty()) return other;
  header.wire.reset();
  if (auto used = communicator.use_plan(Plan(header, programs)); !used) return to_string(used.error());
  return expect_error(call(DataType::f32, ReduceOp::sum, DataType::bf16), Errc::unsupported, {"brought along"});
}

std::string disagree_on_the_wire(Communicator& communicator) {
  std::vector<float> values(3000);
  const Tensor one[] = {{values.data(), values.data(), values.size()}};
  Bucket bucket{one};
  if (communicator.rank() == 0) bucket.wire = DataType::bf16;
  const auto ended = communicator.all_reduce_fused(bucket);
  return expect_error(ended ? communicator.barrier() : ended, Errc::mismatch, {"all_reduce of 3000 f32 (sum) by way of bf16"});
}

}  // namespace

TEST_CASE("by way of 16 bits all ranks end with the same bits, within what rounding explains", "[threads]") {
  SECTION("as threads") {
    for (const char* algorithm : {"", "one_shot", "two_shot"})
      for (const std::uint32_t ranks : {1u, 2u, 3u, 5u}) {
        INFO(algorithm << ", " << ranks << " ranks");
        CHECK(complaints(run_threads(ranks, all_calls, forced(algorithm))) == "");
      }
  }
  SECTION("as processes") {
    for (const char* algorithm : {"", "one_shot", "two_shot", "ring"})  // ring can't: then the choice is the planner's
      for (const std::uint32_t ranks : {2u, 3u, 4u, 7u}) {
        INFO(algorithm << ", " << ranks << " ranks");
        CHECK(complaints(run_processes(ranks, all_calls, forced(algorithm))) == "");
      }
  }
}

TEST_CASE("a wire type is what contributions are rounded to, and the flight recorder says so", "[threads]") {
  for (const char* algorithm : {"one_shot", "two_shot"})
    for (const std::uint32_t ranks : {2u, 3u})
      CHECK(complaints(run_threads(ranks, [=](Communicator& c) { return rounds_to_the_wire(c, algorithm); }, forced(algorithm))) == "");
}

TEST_CASE("a wire type that can't be is refused in words", "[threads]") {
  CHECK(complaints(run_threads(2, refused_wires, forced("two_shot"))) == "");  // a staged plan, for use_plan
  CommunicatorOptions strict;
  strict.strict = true;
  const auto body = [](Communicator& communicator) {
    float value = 1;
    const Tensor one[] = {{&value, &value, 1}};
    return expect_error(communicator.all_reduce_fused({one, DataType::f32, ReduceOp::sum, 1, DataType::bf16}), Errc::unsupported, {"strict"});
  };
  CHECK(complaints(run_threads(2, body, strict)) == "");
}

TEST_CASE("ranks that disagree on the wire type get a mismatch that names it", "[threads]") { CHECK(complaints(run_threads(2, disagree_on_the_wire)) == ""); }

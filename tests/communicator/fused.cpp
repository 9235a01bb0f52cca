// all_reduce_fused: many tensors as one.
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <vector>

#include "communicator/trial.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/lists.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t largest = sanitized ? 20'011 : 300'007;

Shape shape_of(std::uint64_t count, DataType type = DataType::f32, ReduceOp op = ReduceOp::sum) { return {Collective::all_reduce, type, op, 0, 0, 0, count}; }

/// Lists of all lengths, from those that run inlined to many pieces, among calls of other collectives.
std::string random_lists(Communicator& communicator, std::uint32_t calls, bool against_plain) {
  std::mt19937_64 random(7);  // the same on all ranks
  for (std::uint32_t i = 0; i < calls; ++i) {
    const std::uint64_t count = std::vector<std::uint64_t>{0, 1, 13, 100, 440, 3000, 20'000, largest}[random() % 8];
    const std::uint32_t tensors = std::vector<std::uint32_t>{1, 2, 5, 30, 200}[random() % 5];
    const ListTrial trial{shape_of(count), tensors, random() % 100'000, static_cast<Way>(random() % 3), against_plain};
    if (auto wrong = reduce_list(communicator, trial); !wrong.empty()) return wrong;
    if (random() % 3 != 0) continue;
    const Shape other{moving_collectives[random() % std::size(moving_collectives)], DataType::i32, ReduceOp::sum, 0, 0, 0, random() % 5000};
    if (auto wrong = perform(communicator, Trial{other, false, random() % 1000}); !wrong.empty()) return wrong;
  }
  return "";
}

std::string lists_of_all_types(Communicator& communicator, bool against_plain) {
  std::uint64_t seed = 0;
  for (std::size_t type = 0; type < data_type_count; ++type)
    for (std::size_t op = 0; op < reduce_op_count; ++op)
      for (const std::uint64_t count : {37u, 5003u}) {
        if (!is_defined(static_cast<ReduceOp>(op), static_cast<DataType>(type))) continue;
        const ListTrial trial{shape_of(count, static_cast<DataType>(type), static_cast<ReduceOp>(op)), 20, ++seed, Way::run, against_plain};
        if (auto wrong = reduce_list(communicator, trial); !wrong.empty()) return wrong;
      }
  return "";
}

/// What every algorithm is tried with.
std::string a_few(Communicator& communicator, bool against_plain) {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{150}, std::uint64_t{5003}, largest})
    for (const std::uint32_t tensors : {1u, 7u, 60u})
      if (auto wrong = reduce_list(communicator, {shape_of(count), tensors, count + tensors, Way::run, against_plain}); !wrong.empty()) return wrong;
  return "";
}

/// Rank 0 has one buffer and calls all_reduce, the others have lists.
std::string with_a_flat_rank(Communicator& communicator) {
  for (const std::uint64_t count : {1u, 100u, 5000u, 200'000u}) {
    std::vector<std::int32_t> values(count, static_cast<std::int32_t>(communicator.rank() + 1));
    const std::uint64_t half = count / 2;
    const Tensor tensors[] = {{values.data(), values.data(), half}, {values.data() + half, values.data() + half, count - half}};
    const auto done = communicator.rank() == 0 ? communicator.all_reduce(values.data(), values.data(), count, DataType::i32)
                                               : communicator.all_reduce_fused({tensors, DataType::i32});
    if (!done) return to_string(done.error());
    const auto sum = static_cast<std::int32_t>(communicator.size() * (communicator.size() + 1) / 2);
    if (values != std::vector<std::int32_t>(count, sum)) return "a wrong sum of " + std::to_string(count);
  }
  return "";
}

std::string refused_buckets(Communicator& communicator) {
  std::vector<float> a(100), b(100);
  char* const odd = reinterpret_cast<char*>(a.data()) + 1;
  const auto call = [&](std::vector<Tensor> tensors, ReduceOp op = ReduceOp::sum, double scale = 1) {
    return communicator.all_reduce_fused({tensors, DataType::f32, op, scale});
  };
  const std::uint64_t huge = std::uint64_t{1} << 59;
  const Tensor fine{a.data(), b.data(), 1};
  const std::pair<Result<void>, std::vector<std::string>> wrong[] = {
      {call({fine, {nullptr, a.data(), 3}}), {"tensor 1", "input is null, with count 3"}},
      {call({fine, {a.data(), nullptr, 1}}), {"tensor 1", "output is null"}},
      {call({{odd, b.data(), 1}}), {"tensor 0", "input is not aligned", "4 bytes"}},
      {call({fine, {a.data(), odd, 1}}), {"tensor 1", "output is not aligned"}},
      {call({fine, {a.data() + 1, b.data(), 1}}), {"outputs of tensors 0 and 1 overlap"}},
      {call({{a.data(), b.data(), 10}, {a.data(), b.data() + 9, 10}}), {"outputs of tensors 0 and 1 overlap"}},
      {call({{a.data(), a.data() + 1, 10}}), {"tensor 0 overlap", "not in place"}},
      {call({{a.data(), b.data(), 10}, {b.data(), a.data() + 50, 10}}), {"output of tensor 0", "input of tensor 1"}},
      {call({{a.data(), a.data(), 10}, {a.data(), b.data(), 10}}), {"output of tensor 0", "input of tensor 1"}},
      {call({{a.data(), b.data(), huge}, {a.data(), b.data(), huge}, {a.data(), b.data(), huge}}), {"tensor 2", "2^62 bytes"}},
      {call({{a.data(), b.data(), ~std::uint64_t{0}}}), {"tensor 0", "2^62 bytes"}},
      {call({fine}, ReduceOp::sum, 0.5), {"scale 0.5", "premul_sum"}},
      {call({fine}, ReduceOp::band), {"not defined on f32"}},
      {call({fine}, static_cast<ReduceOp>(77)), {"unknown operation 77"}},
      {communicator.all_reduce_fused({{&fine, 1}, static_cast<DataType>(77)}), {"unknown type 77"}},
      {communicator.start_all_reduce_fused({{&fine, 1}, DataType::f32, ReduceOp::sum, 2}).wait(), {"scale 2"}},
  };
  for (const auto& [result, words] : wrong)
    if (auto other = expect_error(result, Errc::invalid_argument, words); !other.empty()) return other;
  if (auto done = call({}); !done) return "an empty list: " + to_string(done.error());
  if (auto done = call({{nullptr, nullptr, 0}, {odd, nullptr, 0}}); !done) return "empty tensors: " + to_string(done.error());
  if (auto done = call({{a.data(), b.data(), 10}, {a.data(), b.data() + 10, 10}}); !done) return "one input twice: " + to_string(done.error());
  return a_few(communicator, false);  // and all is well afterwards
}

/// The sums of the counts differ.
std::string disagree_on_lists(Communicator& communicator, bool started) {
  std::vector<float> values(4000, 1);
  const Tensor tensors[] = {{values.data(), values.data(), 1000}, {values.data() + 2000, values.data() + 2000, 1000 + communicator.rank()}};
  const Bucket bucket{tensors};
  const auto ended = started ? communicator.start_all_reduce_fused(bucket).wait() : communicator.all_reduce_fused(bucket);
  return expect_error(ended ? communicator.barrier() : ended, Errc::mismatch, {"all_reduce of 2000 f32", "all_reduce of 2001 f32"});
}

/// Bytes that this rank's steps reduced, of a list whose first tensor is nearly all of it.
std::string balanced(Communicator& communicator) {
  std::vector<float> large(largest), small(199);
  std::vector<Tensor> tensors{{large.data(), large.data(), large.size()}};
  for (float& one : small) tensors.push_back({&one, &one, 1});
  if (auto traced = communicator.start_trace(100'000); !traced) return to_string(traced.error());
  if (auto done = communicator.all_reduce_fused({tensors}); !done) return to_string(done.error());
  const auto trace = communicator.stop_trace();
  if (!trace) return to_string(trace.error());
  if (trace->plans.size() != 1 || trace->plans[0].algorithm != "two_shot") return "another plan";
  std::uint64_t bytes = 0;
  for (const TraceEvent& event : trace->events)
    if (event.kind == TraceKind::reduce) bytes += event.bytes;
  const std::uint64_t share = (large.size() + small.size()) * sizeof(float) / communicator.size();
  return bytes + 64 >= share && bytes <= share + 64 ? "" : std::to_string(bytes) + " bytes reduced, a share is " + std::to_string(share);
}

#ifndef RONDO_SANITIZED
/// "VmHWM" or "VmRSS", in bytes.
std::uint64_t memory_of_process(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(what + ":")) return std::stoull(line.substr(what.size() + 1)) << 10;
  return 0;
}

/// 250 MB in 200 tensors, some of them large, most of them small.
std::string peak_memory(Communicator& communicator) {
  constexpr std::uint64_t total = 250'000'000 / sizeof(float);
  std::mt19937_64 random(communicator.rank());
  std::vector<double> weights(200);
  for (double& weight : weights) weight = std::exp(static_cast<double>(random() % 1000) / 200);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::vector<float>> data;
  std::vector<Tensor> tensors;
  std::uint64_t rest = total;
  for (std::size_t t = 0; t < weights.size(); ++t) {
    const std::uint64_t count = t + 1 == weights.size() ? rest : std::min(rest, static_cast<std::uint64_t>(static_cast<double>(total) * weights[t] / sum));
    rest -= count;
    data.emplace_back(count, static_cast<float>(communicator.rank() + 1));
    tensors.push_back({data.back().data(), data.back().data(), count});
  }
  if (auto done = communicator.barrier(); !done) return to_string(done.error());
  const std::uint64_t before = memory_of_process("VmRSS");
  if (before < total * sizeof(float)) return "the tensors aren't in memory: " + std::to_string(before);
  if (auto done = communicator.all_reduce_fused({tensors}); !done) return to_string(done.error());
  const std::uint64_t peak = memory_of_process("VmHWM");
  for (const auto& tensor : data)
    for (const float value : tensor)
      if (value != 3) return "a wrong sum";
  return peak - before <= 16u << 20 ? "" : std::to_string(peak - before) + " bytes above the tensors";
}
#endif

}  // namespace

TEST_CASE("a list of tensors has the bits of one buffer with all elements, however each rank cuts it", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_threads(ranks, [](Communicator& c) { return random_lists(c, 60, false); })) == "");
    }
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_processes(ranks, [](Communicator& c) { return random_lists(c, 120, true); })) == "");
    }
  }
}

TEST_CASE("lists of every type by every operation have the bits of one buffer", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {2u, 5u}) CHECK(complaints(run_threads(ranks, [](Communicator& c) { return lists_of_all_types(c, false); })) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u}) CHECK(complaints(run_processes(ranks, [](Communicator& c) { return lists_of_all_types(c, true); })) == "");
  }
}

TEST_CASE("every algorithm that is forced serves lists", "[threads]") {
  SECTION("as threads") {
    for (const std::string_view algorithm : algorithm_names())
      for (const std::uint32_t ranks : sanitized ? std::vector<std::uint32_t>{2, 3} : std::vector<std::uint32_t>{2, 3, 8}) {
        INFO(algorithm << ", " << ranks << " ranks");
        CHECK(complaints(run_threads(ranks, [](Communicator& c) { return a_few(c, false); }, forced(algorithm))) == "");
      }
  }
  SECTION("as processes") {
    for (const std::string_view algorithm : algorithm_names())
      for (const std::uint32_t ranks : few_numbers_of_ranks) {
        INFO(algorithm << ", " << ranks << " ranks");
        CHECK(complaints(run_processes(ranks, [](Communicator& c) { return a_few(c, true); }, forced(algorithm))) == "");
      }
  }
}

TEST_CASE("between processes one rank may call all_reduce where others have lists") {
  for (const std::uint32_t ranks : {2u, 3u}) CHECK(complaints(run_processes(ranks, with_a_flat_rank)) == "");
}

TEST_CASE("what is wrong with a list is said of the tensor that it is wrong with", "[threads]") {
  CHECK(complaints(run_threads(3, refused_buckets)) == "");
}

TEST_CASE("lists of different lengths are a mismatch on every rank", "[threads]") {
  for (const bool started : {false, true}) CHECK(complaints(run_threads(2, [=](Communicator& c) { return disagree_on_lists(c, started); })) == "");
}

TEST_CASE("every rank reduces an equal share of a list, however long its tensors are", "[threads]") {
  for (const std::uint32_t ranks : {2u, 3u}) CHECK(complaints(run_threads(ranks, balanced, forced("two_shot"))) == "");
}

TEST_CASE("a list of 250 MB needs no copy of it") {
#ifndef RONDO_SANITIZED
  CHECK(complaints(run_processes(2, peak_memory)) == "");
#endif
}

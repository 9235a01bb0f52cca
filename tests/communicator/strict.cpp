// Strict communicators: the same bits, whatever the algorithm, the size, the slots, and whether ranks are threads or processes.
#include <bit>
#include <cstring>
#include <thread>

#include "communicator/one_tree.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;
using rondo::test::most_summed;
using rondo::test::tree;
using rondo::test::values_of;

std::string same_bits(const float* got, const std::vector<float>& wanted, std::uint64_t from, std::uint64_t count, const std::string& what) {
  return std::memcmp(got, wanted.data() + from, count * sizeof(float)) == 0 ? "" : what + " of " + std::to_string(count) + " has other bits";
}

std::string all_sizes(Communicator& communicator) {
  const std::uint32_t ranks = communicator.size(), rank = communicator.rank();
  std::vector<std::vector<float>> all;
  for (std::uint32_t each = 0; each < ranks; ++each) all.push_back(values_of<float>(each, most_summed));
  std::vector<float> sums(most_summed), prefix(most_summed), output(most_summed);
  for (std::uint64_t i = 0; i < most_summed; ++i) {
    sums[i] = tree(all, 0, ranks, i);
    prefix[i] = tree(all, 0, rank + 1, i);
  }
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{14}, std::uint64_t{1000}, std::uint64_t{20'011}, most_summed}) {
    if (auto done = communicator.all_reduce(all[rank].data(), output.data(), count, DataType::f32); !done) return to_string(done.error());
    if (auto wrong = same_bits(output.data(), sums, 0, count, "all_reduce"); !wrong.empty()) return wrong;
    if (auto done = communicator.reduce(all[rank].data(), output.data(), count, DataType::f32, ReduceOp::sum, ranks - 1); !done) return to_string(done.error());
    if (rank == ranks - 1)
      if (auto wrong = same_bits(output.data(), sums, 0, count, "reduce"); !wrong.empty()) return wrong;
    const std::uint64_t block = count / ranks;
    if (auto done = communicator.reduce_scatter(all[rank].data(), output.data(), block, DataType::f32); !done) return to_string(done.error());
    if (auto wrong = same_bits(output.data(), sums, rank * block, block, "reduce_scatter"); !wrong.empty()) return wrong;
    if (auto done = communicator.scan(all[rank].data(), output.data(), count, DataType::f32); !done) return to_string(done.error());
    if (auto wrong = same_bits(output.data(), prefix, 0, count, "scan"); !wrong.empty()) return wrong;
  }
  return "";
}

/// An all-reduce of bf16: every result is combined in f32 and rounded once.
std::string of_halves(Communicator& communicator) {
  const std::uint32_t ranks = communicator.size();
  const auto upper = [](float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); };
  std::vector<std::vector<float>> all;
  for (std::uint32_t each = 0; each < ranks; ++each) {
    all.push_back(values_of<float>(each, most_summed));
    for (float& value : all.back()) value = std::bit_cast<float>(std::uint32_t{upper(value)} << 16);
  }
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{5000}, most_summed}) {
    std::vector<std::uint16_t> values(count);
    for (std::uint64_t i = 0; i < count; ++i) values[i] = upper(all[communicator.rank()][i]);
    if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::bf16); !done) return to_string(done.error());
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(tree(all, 0, ranks, i));
      if (values[i] != static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)) return "bf16 of " + std::to_string(count) + " has other bits";
    }
  }
  return "";
}

CommunicatorOptions strict(std::string_view algorithm = "") {
  CommunicatorOptions options;
  options.strict = true;
  options.algorithm = algorithm;
  return options;
}

}  // namespace

TEST_CASE("strict reductions have the bits of the one tree, whatever the algorithm, the size and the kind of ranks", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 8u, 11u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_threads(ranks, all_sizes, strict())) == "");
      CHECK(complaints(run_threads(ranks, of_halves, strict())) == "");
    }
    for (const std::string_view algorithm : algorithm_names())
      for (const std::uint32_t ranks : {4u, 5u}) {
        INFO(algorithm << ", " << ranks << " ranks");
        CHECK(complaints(run_threads(ranks, all_sizes, strict(algorithm))) == "");
      }
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : sanitized ? std::vector<std::uint32_t>{3} : std::vector<std::uint32_t>{2, 3, 4, 7}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_processes(ranks, all_sizes, strict())) == "");
      CHECK(complaints(run_processes(ranks, of_halves, strict())) == "");
    }
    for (const std::string_view algorithm : algorithm_names()) {
      INFO(algorithm);
      CHECK(complaints(run_processes(4, all_sizes, strict(algorithm))) == "");
    }
  }
}

TEST_CASE("in communicators that share little memory, and so have other slots, strict reductions have the same bits") {
  const auto body = [](Communicator& parent) -> std::string {
    const auto longest_piece = [](Communicator& communicator) {
      std::vector<float> data(most_summed);
      std::uint64_t bytes = 0;
      if (!communicator.start_trace(10'000) || !communicator.all_reduce(data.data(), data.data(), most_summed, DataType::f32)) return bytes;
      const auto trace = communicator.stop_trace();
      for (const TraceEvent& event : trace->events) bytes = std::max(bytes, event.bytes);
      return bytes;
    };
    const std::uint64_t usual = longest_piece(parent);
    std::vector<Communicator> children;  // each gets less than the one before
    for (std::uint64_t piece = usual; piece == usual;) {
      auto child = parent.duplicate();
      if (!child) return "no slots became shorter before this: " + to_string(child.error());
      piece = longest_piece(*child);
      if (piece == 0) return "nothing was recorded";
      children.push_back(std::move(*child));
    }
    return all_sizes(children.back());
  };
  CHECK(complaints(run_processes(3, body, strict())) == "");
}

TEST_CASE("a plan that follows the groups of a machine is strict where they are subtrees of the one tree, and is refused where they aren't") {
  const auto body = [](const char* machine, std::uint32_t ranks) {
    return [machine, ranks](Communicator& communicator) -> std::string {
      const Topology topology = with_ranks(*read_synthetic(machine), ranks);
      const Request request{Collective::all_reduce, ranks, 1 << 16, DataType::f32, ReduceOp::sum, 0, Alias::none};
      const auto plan = make_plan(topology, cost_model(topology, ranks), PlanLimits{}, request, "hierarchical");
      if (!plan || plan->header.groups.empty()) return "no plan of groups";
      if (ranks == 6) return expect_error(communicator.use_plan(*plan), Errc::unsupported, {"'hierarchical' is not strict"});
      if (auto used = communicator.use_plan(*plan); !used) return to_string(used.error());
      return all_sizes(communicator);
    };
  };
  CHECK(complaints(run_threads(4, body("package:2 core:2 pu:1", 4), strict())) == "");
  CHECK(complaints(run_processes(8, body("numa:2 core:4 pu:1", 8), strict())) == "");
  CHECK(complaints(run_threads(6, body("package:2 core:3 pu:1", 6), strict())) == "");
}

TEST_CASE("over message links strict sums of a power of two of ranks have the same bits") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<std::vector<float>> all;
    for (std::uint32_t each = 0; each < communicator.size(); ++each) all.push_back(values_of<float>(each, most_summed));
    std::vector<float> sums(most_summed), output(most_summed);
    for (std::uint64_t i = 0; i < most_summed; ++i) sums[i] = tree(all, 0, communicator.size(), i);
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, most_summed}) {
      if (auto done = communicator.all_reduce(all[communicator.rank()].data(), output.data(), count, DataType::f32); !done) return to_string(done.error());
      if (auto wrong = same_bits(output.data(), sums, 0, count, "all_reduce"); !wrong.empty()) return wrong;
    }
    return "";
  };
  CommunicatorOptions over_messages = strict();
  over_messages.transport = "ucx";
  for (const std::uint32_t ranks : {2u, 4u}) {
    const auto said = run_processes(ranks, body, over_messages);
    if (said.front().find("built without UCX") == std::string::npos) CHECK(complaints(said) == "");
  }
}

TEST_CASE("a plan that isn't strict is refused by name", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    Request request{Collective::all_reduce, 4, 1 << 20, DataType::f32, ReduceOp::sum, 0, Alias::none};
    const auto plan = [&](const char* algorithm) { return make_plan(communicator.topology(), CostModel{}, PlanLimits{}, request, algorithm); };
    const auto ring = plan("ring");
    const auto doubling = plan("recursive_doubling");
    if (!ring || !doubling) return "no plan";
    if (auto wrong = expect_error(communicator.use_plan(*ring), Errc::unsupported, {"'ring' is not strict", "rank ", "step "}); !wrong.empty()) return wrong;
    if (auto wrong = expect_error(communicator.use_plan(*ring, true), Errc::unsupported, {"not verified", "strict"}); !wrong.empty()) return wrong;
    if (auto used = communicator.use_plan(*doubling); !used) return to_string(used.error());
    std::uint16_t half = 0;
    if (auto wrong = expect_error(communicator.all_reduce(&half, &half, 1, DataType::bf16), Errc::unsupported, {"recursive_doubling", "bf16"}); !wrong.empty())
      return wrong;
    return all_sizes(communicator);
  };
  CHECK(complaints(run_threads(4, body, strict())) == "");
}

TEST_CASE("strictness that not all ranks ask for is refused") {
  const std::string job = fresh_job();
  const auto odd_one_out = run_processes(1, [&](Communicator&) -> std::string {
    std::vector<std::string> said(2);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        CommunicatorOptions options;
        options.strict = rank == 1;
        options.bootstrap_timeout = std::chrono::seconds(20);
        const auto made = Communicator::local(rank, 2, job, options);
        said[rank] = made ? "it was made" : expect_error(made.error(), Errc::mismatch, {"strict is asked for by rank 1 and not by rank 0"});
      });
    for (std::thread& thread : threads) thread.join();
    return said[0] + said[1];
  });
  CHECK(complaints(odd_one_out) == "");
}

TEST_CASE("every rank has the same bits after a premul_sum of 16-bit values", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (const std::uint64_t count : {3u, 4000u, 100'000u}) {
      std::vector<std::uint16_t> values(count), all(count * communicator.size());
      std::mt19937_64 random(communicator.rank());
      for (auto& value : values) value = static_cast<std::uint16_t>(0x3f00 + random() % 0x100);
      const Call call{Collective::all_reduce, values.data(), values.data(), count, DataType::bf16, ReduceOp::premul_sum, 0, 0.3};
      if (auto done = communicator.run(call); !done) return to_string(done.error());
      if (auto done = communicator.all_gather(values.data(), all.data(), count, DataType::bf16); !done) return to_string(done.error());
      for (std::uint32_t rank = 0; rank < communicator.size(); ++rank)
        if (std::memcmp(values.data(), all.data() + rank * count, count * 2) != 0) return "other bits, count " + std::to_string(count);
    }
    return "";
  };
  for (const std::uint32_t ranks : {2u, 3u, 5u}) CHECK(complaints(run_threads(ranks, body)) == "");
}

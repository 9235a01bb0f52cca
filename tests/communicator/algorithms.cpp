// Every algorithm over shared memory: the cost model would choose some of them for no call that a test makes.
#include <cstring>
#include <set>

#include "communicator/trial.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

/// An all-reduce of random f32: right numbers, and the same bits on every rank.
std::string reduce_alike(Communicator& communicator, ReduceOp op, std::uint64_t count) {
  const Shape shape{Collective::all_reduce, DataType::f32, op, communicator.size(), communicator.rank(), 0, count};
  std::vector<float> input(count), output(count), all(count * communicator.size());
  fill_input(shape, count, input.data());
  const std::string name = std::string(to_string(op)) + " of " + std::to_string(count);
  if (auto done = communicator.all_reduce(input.data(), output.data(), count, DataType::f32, op); !done) return name + ": " + to_string(done.error());
  if (const std::uint64_t wrong = count_wrong(shape, count, output.data()); wrong != 0) return name + ": " + std::to_string(wrong) + " wrong";
  if (auto done = communicator.all_gather(output.data(), all.data(), count, DataType::f32); !done) return name + ": " + to_string(done.error());
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank)
    if (std::memcmp(output.data(), all.data() + rank * count, count * sizeof(float)) != 0) return name + ": rank " + std::to_string(rank) + " has other bits";
  return "";
}

constexpr std::uint64_t tried_counts[] = {1, 17, 1003, sanitized ? 20'011 : 100'003};

std::string all_collectives(Communicator& communicator) {
  bool in_place = false;  // taken in turns
  for (const std::uint64_t count : tried_counts) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::avg})
      if (auto wrong = reduce_alike(communicator, op, count); !wrong.empty()) return wrong;
    for (const Collective collective : moving_collectives) {
      const Shape shape{collective, DataType::i32, ReduceOp::sum, 0, 0, communicator.size() - 1, count};
      in_place = !in_place;
      if (auto wrong = perform(communicator, Trial{shape, in_place, count}); !wrong.empty()) return wrong;
    }
    if (auto done = communicator.barrier(); !done) return "barrier: " + to_string(done.error());
  }
  return "";
}

/// The algorithms of the calls that all_collectives() makes.
std::set<std::string> algorithms_of(const Communicator& communicator) {
  std::set<std::string> names;
  std::vector<Call> calls{Call{Collective::barrier}};
  for (const std::uint64_t count : tried_counts)
    for (const Collective collective : moving_collectives)
      calls.push_back(Call{collective, nullptr, nullptr, count, DataType::f32, ReduceOp::sum, communicator.size() - 1});
  for (const Call& call : calls)
    if (const auto plan = communicator.plan_for(call)) names.insert(plan->header.algorithm);
  return names;
}

}  // namespace

TEST_CASE("every algorithm that is forced gives right results and the same bits on every rank", "[threads]") {
  SECTION("as threads") {
    for (const std::string_view algorithm : algorithm_names()) {
      if (algorithm == "hierarchical" || algorithm.starts_with("rail")) continue;  // ranks that may run anywhere have no groups: hierarchy.cpp brings its own
      bool served = false;
      for (const std::uint32_t ranks : numbers_of_ranks) {
        INFO(algorithm << ", " << ranks << " ranks");
        const auto body = [&](Communicator& communicator) {
          if (communicator.rank() == 0) served = served || algorithms_of(communicator).contains(std::string(algorithm));
          return all_collectives(communicator);
        };
        CHECK(complaints(run_threads(ranks, body, forced(algorithm))) == "");
      }
      INFO(algorithm);
      CHECK(served);
    }
  }
  SECTION("as processes") {
    for (const std::string_view algorithm : algorithm_names())
      for (const std::uint32_t ranks : few_numbers_of_ranks) {
        INFO(algorithm << ", " << ranks << " ranks");
        CHECK(complaints(run_processes(ranks, all_collectives, forced(algorithm))) == "");
      }
  }
}

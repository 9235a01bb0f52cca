// Blocks that lie apart: lists of pointers in the place of buffers.
#include <string>
#include <vector>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

const Collective with_blocks[] = {Collective::all_gather, Collective::gather, Collective::reduce_scatter, Collective::scatter};

/// Calls of every collective with blocks, from none to many pieces, on lists by all ranks and by some.
std::string all_apart(Communicator& communicator) {
  std::uint64_t seed = 5;
  for (const Collective collective : with_blocks)
    for (const DataType type : {DataType::u8, DataType::f32, DataType::f64})
      for (const std::uint64_t count : {0u, 1u, 5u, 63u, 1000u, 4099u, 20'011u, sanitized ? 70'001u : 300'007u})
        for (const bool in_place : {false, true})
          for (const bool by_all : {false, true}) {
            ++seed;
            const Shape shape{collective, type, ReduceOp::sum, 0, 0, static_cast<std::uint32_t>(seed / 2 % communicator.size()), count};
            if (auto wrong = perform(communicator, Trial{shape, in_place, seed * 2 + (by_all ? 0 : 1), false, true}); !wrong.empty()) return wrong;
          }
  return "";
}

/// Works whose lists are gone before they end.
std::string started_apart(Communicator& communicator) {
  constexpr std::uint64_t count = 50'000;
  const std::uint32_t size = communicator.size(), rank = communicator.rank();
  std::vector<std::vector<std::int32_t>> given(size, std::vector<std::int32_t>(count)), got(size, std::vector<std::int32_t>(count));
  std::vector<std::int32_t> scattered(count), mine(count, static_cast<std::int32_t>(rank));
  for (std::uint32_t to = 0; to < size; ++to) given[to].assign(count, static_cast<std::int32_t>(10 * rank + to));
  std::vector<Work> works;
  {
    std::vector<const void*> inputs(given.size());
    std::vector<void*> outputs(got.size());
    for (std::uint32_t r = 0; r < size; ++r) inputs[r] = given[r].data(), outputs[r] = got[r].data();
    Call scatter{Collective::scatter, nullptr, scattered.data(), count, DataType::i32, ReduceOp::sum, 1};
    scatter.inputs = inputs.data();
    Call gather{Collective::all_gather, mine.data(), nullptr, count, DataType::i32};
    gather.outputs = outputs.data();
    works.push_back(communicator.start(scatter));
    works.push_back(communicator.start(gather));
    inputs.assign(size, nullptr);
    outputs.assign(size, nullptr);
  }
  for (Work& work : works)
    if (auto done = work.wait(); !done) return to_string(done.error());
  if (scattered != std::vector<std::int32_t>(count, static_cast<std::int32_t>(10 + rank))) return "a wrong scatter";
  for (std::uint32_t r = 0; r < size; ++r)
    if (got[r] != std::vector<std::int32_t>(count, static_cast<std::int32_t>(r))) return "a wrong all_gather";
  return "";
}

std::string refused_lists(Communicator& communicator) {
  const std::uint32_t rank = communicator.rank();
  std::vector<std::int32_t> block[3] = {std::vector<std::int32_t>(8), std::vector<std::int32_t>(8), std::vector<std::int32_t>(8)}, other(8);
  const auto call = [&](Collective collective, const void* input, void* output, std::vector<void*> inputs, std::vector<void*> outputs) {
    Call made{collective, input, output, 4, DataType::i32, ReduceOp::sum, rank};  // each is a root: none of these runs
    if (!inputs.empty()) made.inputs = inputs.data();
    if (!outputs.empty()) made.outputs = outputs.data();
    const auto ran = communicator.run(made), started = communicator.start(made).wait();
    return ran || started ? Result<void>() : ran.error().detail == started.error().detail ? ran : started;
  };
  const std::vector<void*> good{block[0].data(), block[1].data(), block[2].data()};
  const std::vector<void*> null{block[0].data(), nullptr, block[2].data()};
  const std::vector<void*> odd{block[0].data(), block[1].data(), reinterpret_cast<char*>(block[2].data()) + 1};
  const std::vector<void*> close{block[0].data(), block[1].data(), block[1].data() + 3};
  void* const in_next = block[(rank + 1) % 3].data();
  using C = Collective;
  const std::string own = std::to_string(rank), next = std::to_string((rank + 1) % 3);
  const std::pair<Result<void>, std::string> wrong[] = {
      {call(C::all_reduce, nullptr, other.data(), good, {}), "inputs given to all_reduce; accepted: reduce_scatter, scatter"},
      {call(C::all_gather, other.data(), nullptr, good, good), "inputs given to all_gather"},
      {call(C::scatter, nullptr, nullptr, good, good), "outputs given to scatter; accepted: all_gather, gather"},
      {call(C::all_to_all, nullptr, other.data(), good, {}), "inputs given to all_to_all"},
      {call(C::scatter, other.data(), other.data(), good, {}), "input and inputs are both given"},
      {call(C::gather, other.data(), other.data(), {}, good), "output and outputs are both given"},
      {call(C::gather, other.data(), nullptr, {}, null), "block 1 of outputs is null, with count 4"},
      {call(C::reduce_scatter, nullptr, other.data(), null, {}), "block 1 of inputs is null"},
      {call(C::all_gather, other.data(), nullptr, {}, odd), "block 2 of outputs is not aligned to its elements (4 bytes)"},
      {call(C::all_gather, other.data(), nullptr, {}, close), "blocks 1 and 2 of outputs overlap"},
      {call(C::all_gather, nullptr, nullptr, {}, good), "input is null"},
      {call(C::scatter, nullptr, nullptr, good, {}), "output is null"},
      {call(C::all_gather, in_next, nullptr, {}, good), "input overlaps block " + next + " of outputs; accepted: memory of its own, or block " + own},
      {call(C::reduce_scatter, nullptr, in_next, good, {}), "output overlaps block " + next + " of inputs"},
  };
  for (const auto& [result, word] : wrong)
    if (auto amiss = expect_error(result, Errc::invalid_argument, {word}); !amiss.empty()) return amiss;
  const auto barrier = communicator.barrier();
  return barrier ? "" : to_string(barrier.error());
}

}  // namespace

TEST_CASE("blocks that lie apart are read and written where they are, whichever ranks' do", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 5u}) CHECK(complaints(run_threads(ranks, all_apart)) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u, 4u}) CHECK(complaints(run_processes(ranks, all_apart)) == "");
  }
  SECTION("with checksums") {
    CommunicatorOptions checked;
    checked.integrity = true;
    CHECK(complaints(run_processes(3, all_apart, checked)) == "");
  }
}

TEST_CASE("every algorithm serves blocks that lie apart") {
  // A sanitizer sees each way of moving blocks in these few.
  const std::vector<const char*> algorithms =
      sanitized ? std::vector<const char*>{"inline", "one_shot", "direct_one_shot", "direct_push_pull", "ring", "bruck"}
                : std::vector<const char*>{"inline", "one_shot", "one_shot_streamed", "direct_one_shot", "direct_push_pull", "pairwise", "ring", "rings",
                                           "recursive_doubling", "bruck", "pat", "bine", "knomial", "parameter_server", "halving_doubling"};
  for (const char* algorithm : algorithms) {
    INFO(algorithm);
    CHECK(complaints(run_processes(4, all_apart, forced(algorithm))) == "");
  }
}

TEST_CASE("lists of blocks are copied when a call is started", "[threads]") {
  SECTION("as threads") { CHECK(complaints(run_threads(3, started_apart)) == ""); }
  SECTION("as processes") { CHECK(complaints(run_processes(2, started_apart)) == ""); }
}

TEST_CASE("lists of blocks that make no sense are refused by name, and the communicator stays usable", "[threads]") {
  CHECK(complaints(run_threads(3, refused_lists)) == "");
}

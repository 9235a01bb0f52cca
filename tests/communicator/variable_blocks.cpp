// all_to_all_v: blocks of any lengths, which only the two ranks of a pair know.
#include <random>
#include <vector>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"
#include "support/uneven.hpp"

namespace {

using namespace rondo;

/// Mixes calls of all_to_all_v, from empty ones to many pieces, with calls of other collectives.
std::string mixed_blocks(Communicator& communicator, std::uint32_t calls) {
  std::mt19937_64 random(99);  // the same on all ranks
  for (std::uint32_t i = 0; i < calls; ++i) {
    const std::uint64_t most[] = {0, 1, 20, 3000, 20'000, i % 16 == 0 ? 300'000u : 5u};
    const std::uint64_t seed = random();
    if (auto wrong = swap_uneven(communicator, seed % 100'000, most[random() % 6], static_cast<Way>(random() % 3)); !wrong.empty()) return wrong;
    if (random() % 2 == 0) continue;
    const Collective collective = moving_collectives[random() % std::size(moving_collectives)];
    const Shape shape{collective, DataType::f32, ReduceOp::sum, 0, 0, static_cast<std::uint32_t>(random() % communicator.size()), random() % 5000};
    if (auto wrong = perform(communicator, Trial{shape, false, seed}); !wrong.empty()) return wrong;
  }
  return "";
}

/// Rank 0 sends `more` elements more to rank 1 than that expects.
std::string disagree_on_blocks(Communicator& communicator, std::uint64_t count, std::int64_t more, bool started, double bound_seconds) {
  std::vector<std::uint64_t> sent(communicator.size(), count), received(communicator.size(), count);
  if (communicator.rank() == 0) sent[1] = count + static_cast<std::uint64_t>(more);
  std::vector<std::int32_t> out(communicator.size() * (count + 5)), in(communicator.size() * (count + 5));
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = started ? communicator.start_all_to_all_v(out.data(), {sent}, in.data(), {received}, DataType::i32).wait()
                             : communicator.all_to_all_v(out.data(), {sent}, in.data(), {received}, DataType::i32);
  const std::string lengths[] = {std::to_string((count + static_cast<std::uint64_t>(more)) * 4) + " bytes to rank 1",
                                 "which expects " + std::to_string(count * 4)};
  // A rank that has all its blocks may be through; it learns in its next call.
  if (auto wrong = expect_error(ended ? communicator.barrier() : ended, Errc::mismatch, {"all_to_all_v of i32", "rank 0 sends", lengths[0], lengths[1]});
      !wrong.empty())
    return wrong;
  return seconds_since(begin) < bound_seconds ? "" : "took too long";
}

std::string refused_blocks(Communicator& communicator) {
  const std::uint32_t size = communicator.size();
  std::vector<std::int32_t> out(100), in(100);
  const std::vector<std::uint64_t> ones(size, 1), few(size - 1, 1), huge(size, std::uint64_t{1} << 61), twice(size, 0);
  std::vector<std::uint64_t> uneven = ones;
  uneven[communicator.rank()] = 2;
  const auto call = [&](const void* input, const Blocks& sent, void* output, const Blocks& received) {
    return communicator.all_to_all_v(input, sent, output, received, DataType::i32);
  };
  char* odd = reinterpret_cast<char*>(in.data()) + 1;
  const std::pair<Result<void>, std::string> wrong[] = {
      {call(out.data(), {few}, in.data(), {ones}), "sent: 2 counts for 3 ranks"},
      {call(out.data(), {ones}, in.data(), {few}), "received: 2 counts for 3 ranks"},
      {call(out.data(), {ones, few}, in.data(), {ones}), "2 offsets for 3 ranks"},
      {call(out.data(), {huge}, in.data(), {ones}), "2^62 bytes"},
      {call(out.data(), {ones, huge}, in.data(), {ones}), "2^62 bytes"},
      {call(out.data(), {ones}, in.data(), {ones, twice}), "received from ranks 0 and 1 overlap"},
      {call(out.data(), {ones}, in.data(), {uneven}), "to itself"},
      {call(nullptr, {ones}, in.data(), {ones}), "input is null"},
      {call(out.data(), {ones}, nullptr, {ones}), "output is null"},
      {call(out.data(), {ones}, odd, {ones}), "not aligned"},
      {call(out.data(), {ones}, out.data() + 1, {ones}), "overlap"},
      {communicator.run(Call{Collective::all_to_all_v, out.data(), in.data(), 0, DataType::i32}), "call all_to_all_v(input, sent, output, received, type)"},
      {communicator.start(Call{Collective::all_to_all_v, out.data(), in.data(), 1, DataType::i32}).wait(), "all_to_all_v("},
  };
  for (const auto& [result, word] : wrong)
    if (auto other = expect_error(result, Errc::invalid_argument, {word}); !other.empty()) return other;
  const std::vector<std::uint64_t> none(size, 0);
  if (auto done = call(nullptr, {none}, nullptr, {none}); !done) return "of nothing: " + to_string(done.error());
  return swap_uneven(communicator, 5, 1000);  // and all is well afterwards
}

}  // namespace

TEST_CASE("all_to_all_v moves blocks of any lengths, in any order, among other calls", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_threads(ranks, [](Communicator& c) { return mixed_blocks(c, sanitized ? 50 : 150); })) == "");
    }
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 7u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_processes(ranks, [](Communicator& c) { return mixed_blocks(c, sanitized ? 100 : 400); })) == "");
    }
  }
}

TEST_CASE("a block that is longer or shorter than its receiver expects is a mismatch with both lengths on every rank", "[threads]") {
  const auto all = [](const auto& run) {
    for (const std::uint64_t count : {0u, 1u, 100u, 200'000u})
      for (const std::int64_t more : {-1, 1, 5})
        for (const bool started : {false, true}) {
          if (more < 0 && count == 0) continue;
          INFO(count << " elements and " << more << (started ? ", started" : ""));
          CHECK(complaints(run(count, more, started)) == "");
        }
  };
  SECTION("as threads") {
    all([](std::uint64_t count, std::int64_t more, bool started) {
      return run_threads(3, [=](Communicator& c) { return disagree_on_blocks(c, count, more, started, 5); });
    });
  }
  SECTION("as processes") {
    all([](std::uint64_t count, std::int64_t more, bool started) {
      return run_processes(2, [=](Communicator& c) { return disagree_on_blocks(c, count, more, started, 1); });
    });
  }
}

TEST_CASE("all_to_all_v names what is wrong with its blocks, and the communicator stays usable", "[threads]") {
  CHECK(complaints(run_threads(3, refused_blocks)) == "");
}

TEST_CASE("a plan that waits for other ranks than a block's own is refused for all_to_all_v", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    // all_to_all through slots that peers share: right for equal blocks alone
    const auto equal = communicator.plan_for(Call{Collective::all_to_all, nullptr, nullptr, 1 << 20, DataType::i32});
    if (!equal) return to_string(equal.error());
    PlanHeader header = equal->header;
    header.collective = Collective::all_to_all_v;
    header.in_place = false;
    std::vector<Program> programs;
    for (std::uint32_t rank = 0; rank < header.ranks; ++rank) programs.push_back(equal->program(rank));
    if (header.neutral) return "the planner's choice is made of links: this test needs another plan";
    if (auto wrong = expect_error(communicator.use_plan(Plan(header, programs)), Errc::unsupported, {"not made of links"}); !wrong.empty()) return wrong;
    header.neutral = true;
    if (auto wrong = expect_error(communicator.use_plan(Plan(header, programs)), Errc::invalid_plan, {"all_to_all_v"}); !wrong.empty()) return wrong;
    const auto own = communicator.plan_for(Call{Collective::all_to_all_v, nullptr, nullptr, 0, DataType::i32});
    if (!own) return to_string(own.error());
    if (auto used = communicator.use_plan(*own); !used) return "its own plan: " + to_string(used.error());
    return swap_uneven(communicator, 3, 50'000);
  };
  CHECK(complaints(run_threads(3, body)) == "");
}

// Slots that are checked: what changes in them between being written and being read is found out by the step that reads it.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "executor/layouts.hpp"
#include "executor/letters.hpp"
#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

/// Broadcasts of one piece, which rank 0 has sent before rank 1 looks.
class Broadcasts {
 public:
  explicit Broadcasts(std::uint64_t count) : count_(count), input_(count), outputs_{std::vector<float>(count), std::vector<float>(count)} {
    const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "one_shot");
    REQUIRE(plan);
    for (std::uint32_t rank = 0; rank < 2; ++rank) executables_[rank] = compiled(*plan, rank, count, staged_layout, true);
    REQUIRE(executables_[0].pieces == 1);
  }

  Progress advance(std::uint32_t rank) { return ranks_.runs[rank].advance(0); }
  void begin() {
    std::generate(input_.begin(), input_.end(), [&] { return static_cast<float>(random_() % 1000); });
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      ranks_.runs[rank].begin(ranks_.contexts[rank], executables_[rank], identity_, identity_.digest(), Binding{rank == 0 ? input_.data() : nullptr,
                                                                                                                  outputs_[rank].data(), 1});
  }
  bool right() const { return outputs_[1] == input_; }

  /// What rank 0 has written for call `call`, the header first.
  std::byte* slot(std::uint64_t call) {
    std::byte* staging = ranks_.areas[0].front().bytes + staged_layout.staging(call & 1);
    const auto at = std::search(staging, staging + staged_layout.half_bytes, bytes(), bytes() + count_ * 4);
    REQUIRE(at != staging + staged_layout.half_bytes);
    return at - sizeof(SlotHeader);
  }
  const Corruption& corruption() const { return ranks_.runs[1].corruption(); }

 private:
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(input_.data()); }

  std::uint64_t count_;
  std::mt19937_64 random_{1};
  std::vector<float> input_;
  std::array<std::vector<float>, 2> outputs_;
  std::array<Executable, 2> executables_;
  TwoRanks ranks_{staged_layout};
  const CallIdentity identity_{Collective::broadcast, DataType::f32, ReduceOp::sum, 0, count_, 1};
};

}  // namespace

TEST_CASE("a bit that flips in a message is found") {
  constexpr std::uint64_t count = 100;
  const auto plan = plan_of(request_of(Collective::broadcast, 2, count * 4), "", false);
  REQUIRE(plan);
  const CallIdentity identity{Collective::broadcast, DataType::f32, ReduceOp::sum, 0, count, 1};
  for (const int bit : {-1, 0, 17, 3199}) {
    Post post;
    std::vector<float> input(count, 3), output(count, 0);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const Executable executable = compiled_over_links(*plan, rank, count, staged_layout, true);
      LinkedRank here(staged_layout, rank, post);
      Run run;
      run.begin(here.context, executable, identity, identity.digest(), Binding{rank == 0 ? input.data() : nullptr, output.data(), 1});
      const Progress progress = run.advance(0);
      INFO("bit " << bit << ", rank " << rank);
      CHECK(progress == (rank == 0 || bit < 0 ? Progress::done : Progress::mismatch));
      CHECK(run.corruption().found == (progress == Progress::mismatch));
      if (rank == 0 && bit >= 0) post.begin()->second.front().payload[static_cast<std::size_t>(bit / 8)] ^= std::byte{1} << bit % 8;
      if (rank == 0) output.assign(count, 0);
    }
    CHECK((bit >= 0 || output == input));
  }
}

TEST_CASE("a bit that flips in a slot is found by whoever reads it, with the rank that wrote it, the chunk and the piece") {
  constexpr std::uint64_t count = 100;
  for (std::uint64_t bit = 0; bit < count * 32; bit += bit < 256 ? 1 : 29) {
    Broadcasts calls(count);
    calls.begin();
    REQUIRE(calls.advance(0) == Progress::done);
    std::byte& byte = calls.slot(1)[sizeof(SlotHeader) + bit / 8];
    byte ^= std::byte{1} << static_cast<int>(bit % 8);
    REQUIRE(calls.advance(1) == Progress::mismatch);
    CHECK(calls.corruption().found);
    CHECK(calls.corruption().writer == 0);
    CHECK(calls.corruption().owner == 0);
    CHECK(calls.corruption().index == 0);
    CHECK(calls.corruption().piece == 0);
  }
}

TEST_CASE("a slot's header that changes is found, and never read past its slot") {
  for (std::uint64_t word = 1; word < 4; ++word)
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{77}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
      Broadcasts calls(100);
      calls.begin();
      REQUIRE(calls.advance(0) == Progress::done);
      std::uint64_t* words = reinterpret_cast<std::uint64_t*>(calls.slot(1));
      if (words[word] == value) continue;
      words[word] = value;
      INFO("word " << word << " of the header is " << value);
      CHECK(calls.advance(1) == (word == 3 ? Progress::done : Progress::mismatch));  // who wrote it matters only if it is wrong
    }
}

TEST_CASE("what another call left in a slot is found, though it was right then") {
  Broadcasts calls(100);
  std::vector<std::byte> earlier;
  for (std::uint64_t call = 1;; ++call) {
    calls.begin();
    REQUIRE(calls.advance(0) == Progress::done);
    std::byte* const slot = calls.slot(call);
    if (call == 1) earlier.assign(slot, slot + sizeof(SlotHeader) + 400);
    if (call == 3) {
      std::copy(earlier.begin(), earlier.end(), slot);
      CHECK(calls.advance(1) == Progress::mismatch);
      return;
    }
    REQUIRE(calls.advance(1) == Progress::done);
    CHECK(calls.right());
  }
}

TEST_CASE("an inlined plan has no room for checksums") {
  const auto plan = plan_of(request_of(Collective::all_reduce, 2, 8), "inline");
  REQUIRE(plan);
  CompileRequest request;
  request.count = 2;
  request.layout = staged_layout;
  request.checked = true;
  const auto executable = compile(lower(*plan), request);
  REQUIRE(!executable);
  CHECK(executable.error().code == Errc::unsupported);
}

TEST_CASE("staging that just holds a plan's slots is too little for their headers, which the planner knows") {
  Request request = request_of(Collective::all_reduce, 2, 1 << 20);
  PlanLimits limits = limits_of_shared_memory();
  const auto plan = make_plan(Topology{}, near_cores(), limits, request, "two_shot");
  REQUIRE(plan);
  const Plan lowered = lower(*plan);
  limits.slot_header_bytes = sizeof(SlotHeader);
  limits.staging_bytes = std::uint64_t{64} * lowered.header.depth * lowered.header.scratch_chunks;
  CHECK(!make_plan(Topology{}, near_cores(), limits, request, "two_shot"));
  CompileRequest compiling;
  compiling.count = request.count;
  compiling.checked = true;
  compiling.layout = ContextLayout{8, 8, limits.staging_bytes};
  const auto refused = compile(lowered, compiling);
  REQUIRE(!refused);
  CHECK(refused.error().detail.find("bytes of staging") != std::string::npos);
  compiling.layout.half_bytes *= 2;
  CHECK(compile(lowered, compiling));
}

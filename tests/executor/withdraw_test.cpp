// A call on memory that all ranks can read, of which a peer makes another one: who finds that out withdraws, whenever it looks.
#include <array>
#include <cstdint>
#include <vector>

#include "executor/layouts.hpp"
#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr std::uint64_t reduced_count = 64;

/// An all_reduce out of place, whose ranks agree; rank 1 says that its own is in place if they differ.
struct Agreeing : TwoRanks {
  explicit Agreeing(bool alike) : TwoRanks(bare_layout) {
    const auto plan = plan_of(request_of(Collective::all_reduce, 2, reduced_count * 4), "direct_one_shot");
    REQUIRE(plan);
    CompileRequest request;
    request.direct = request.agrees = true;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      contexts[rank].homes = Homes({reinterpret_cast<std::uintptr_t>(&memory), reinterpret_cast<std::uintptr_t>(&memory)}, sizeof memory);
      executables[rank] = compiled(*plan, rank, reduced_count, bare_layout, false, request);
      identities[rank].in_place = rank == 1 && !alike;
      const Binding binding{memory[rank].data(), memory[2 + rank].data(), 1};
      runs[rank].begin(contexts[rank], executables[rank], identities[rank], identities[rank].digest(), binding);
    }
  }

  CallRecord& record_of_1() const { return contexts[0].record(1, 1); }

  std::array<std::array<float, reduced_count>, 4> memory{};
  std::array<Executable, 2> executables;
  std::array<CallIdentity, 2> identities;
};

}  // namespace

TEST_CASE("ranks that make the same call don't withdraw it") {
  Agreeing ranks(true);
  CHECK(ranks.runs[0].advance(1) == Progress::blocked);
  CHECK(!ranks.runs[0].must_withdraw());  // rank 1 hasn't begun
  CHECK(ranks.runs[1].advance(1) != Progress::mismatch);
  CHECK(!ranks.runs[0].must_withdraw());
  CHECK(!ranks.runs[1].must_withdraw());
}

TEST_CASE("ranks that make calls of two kinds withdraw them") {
  Agreeing ranks(false);
  CHECK(ranks.runs[0].advance(1) == Progress::blocked);
  CHECK(ranks.runs[1].advance(1) == Progress::mismatch);
  CHECK(ranks.runs[0].advance(1) == Progress::mismatch);
  CHECK(ranks.runs[0].must_withdraw());
  CHECK(ranks.runs[1].must_withdraw());
}

TEST_CASE("a rank withdraws, too, while its peer that has withdrawn is writing its record anew") {
  Agreeing ranks(false);
  CHECK(ranks.runs[0].advance(1) == Progress::blocked);
  CHECK(ranks.runs[1].advance(1) == Progress::mismatch);
  ranks.record_of_1().sequence.store(0, std::memory_order_relaxed);
  CHECK(ranks.runs[0].advance(1) == Progress::mismatch);
  CHECK(ranks.runs[0].must_withdraw());
}

TEST_CASE("a record that a peer is only beginning to write is none of another call") {
  Agreeing ranks(true);
  CHECK(ranks.runs[0].advance(1) == Progress::blocked);
  ranks.record_of_1().digest.store(7, std::memory_order_relaxed);
  CHECK(!ranks.runs[0].must_withdraw());
}

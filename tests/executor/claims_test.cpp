// What a rank asks for while it waits is what it writes in its next call.
#include <algorithm>
#include <cstring>
#include <vector>

#include "executor/layouts.hpp"
#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr std::byte blank{0xee};

struct Region {
  const std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
};

Executable claiming(const Plan& plan, std::uint32_t rank, std::uint64_t count, bool claims_pay = true, bool checked = false) {
  CompileRequest request;
  request.ring_bytes = 32u << 10;
  request.claims_pay = claims_pay;
  return compiled(plan, rank, count, staged_layout, checked, request);
}

/// Two ranks that call one collective again and again.
class Callers {
 public:
  Callers(Collective collective, const char* algorithm, std::uint64_t count, bool roots_rotate, bool claims_pay = true, bool checked = false) {
    for (std::uint32_t root = 0; root < (roots_rotate ? 2u : 1u); ++root) {
      const auto plan = plan_of(request_of(collective, 2, 4 * count, root), algorithm);
      REQUIRE(plan);
      for (std::uint32_t rank = 0; rank < 2; ++rank) executables_[root][rank] = claiming(*plan, rank, count, claims_pay, checked);
    }
    roots_ = roots_rotate ? 2 : 1;
    identity_ = CallIdentity{collective, DataType::f32, ReduceOp::sum, 0, count, 1};
    for (auto& buffer : buffers_) buffer.assign(2 * count, 1.0f);
  }

  const Executable& executable(std::uint32_t root, std::uint32_t rank) const { return executables_[root][rank]; }
  std::uint64_t claim_bytes(std::uint32_t rank) const { return executable(0, rank).claim_bytes; }

  /// Rank 0 begins a call that the other one doesn't, and looks for it so many times.
  void wait_alone(std::uint32_t looks) {
    begin(0, executables_[calls_++ % roots_][0]);
    REQUIRE(two_.runs[0].advance(looks) == Progress::blocked);
    asked[0] = {two_.contexts[0].claims->next(), two_.contexts[0].claims->left()};
  }

  /// Makes the next call. Then `written` has of each rank what it wrote in its slots, `asked` what it is to ask for from then on.
  void call() {
    const auto& pair = executables_[calls_++ % roots_];
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      std::memset(staging(rank), static_cast<int>(blank), 2 * staged_layout.half_bytes);
      begin(rank, pair[rank]);
    }
    for (bool done[2] = {}; !done[0] || !done[1];)
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        if (done[rank]) continue;
        const Progress progress = two_.runs[rank].advance(0);
        REQUIRE(progress != Progress::mismatch);
        done[rank] = progress == Progress::done;
      }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const std::byte* const end = staging(rank) + 2 * staged_layout.half_bytes;
      const auto is_written = [](std::byte byte) { return byte != blank; };
      const std::byte* const first = std::find_if(staging(rank), const_cast<std::byte*>(end), is_written);
      const std::byte* last = end;
      while (last != first && !is_written(last[-1])) --last;
      written[rank] = {first, static_cast<std::uint64_t>(last - first)};
      asked[rank] = {two_.contexts[rank].claims->next(), two_.contexts[rank].claims->left()};
    }
  }

  Region written[2], asked[2];

 private:
  void begin(std::uint32_t rank, const Executable& executable) {
    Binding binding;
    binding.input = buffers_[rank].data();
    binding.output = buffers_[2 + rank].data();
    two_.runs[rank].begin(two_.contexts[rank], executable, identity_, 1, binding);
  }
  std::byte* staging(std::uint32_t rank) { return two_.areas[rank].front().bytes + staged_layout.staging(0); }

  TwoRanks two_{staged_layout};
  Executable executables_[2][2];
  std::uint32_t roots_ = 1;
  std::uint64_t calls_ = 0;
  CallIdentity identity_;
  std::vector<float> buffers_[4];
};

}  // namespace

TEST_CASE("lines are asked for a few at a time, until none are left or others are aimed at") {
  alignas(cache_line) std::byte lines[20 * cache_line];
  Claims claims;
  claims.ask_or_relax();
  CHECK(claims.left() == 0);
  claims.aim(lines, sizeof lines);
  for (const std::uint64_t left : {12u, 4u, 0u, 0u}) {
    claims.ask_or_relax();
    CHECK(claims.left() == left * cache_line);
    CHECK(claims.next() + claims.left() == lines + sizeof lines);
  }
  claims.aim(lines, sizeof lines);
  claims.aim(nullptr, 0);
  CHECK(claims.left() == 0);
}

TEST_CASE("what a rank asks for while it waits is what it writes in its next call, wherever halves and rings go on") {
  struct Case {
    Collective collective;
    const char* algorithm;
    std::uint64_t count;
    bool roots_rotate;
    bool checked = false;
  };
  for (const Case& each : {Case{Collective::all_reduce, "one_shot", 300, false}, {Collective::all_reduce, "one_shot", 1000, false},
                           {Collective::all_reduce, "two_shot", 3001, false}, {Collective::all_gather, "one_shot", 2000, false},
                           {Collective::gather, "one_shot", 1500, true}, {Collective::gather, "one_shot", 1500, false},
                           {Collective::broadcast, "one_shot", 2048, true}, {Collective::reduce, "one_shot", 700, true},
                           {Collective::all_reduce, "one_shot", 1000, false, true}, {Collective::gather, "one_shot", 1500, true, true}}) {
    INFO(to_string(each.collective) << ' ' << each.algorithm << ", " << each.count << " elements, roots rotate " << each.roots_rotate << ", checked "
                                    << each.checked);
    Callers callers(each.collective, each.algorithm, each.count, each.roots_rotate, true, each.checked);
    Region asked[2];
    std::uint32_t compared = 0;
    for (int k = 0; k < 40; ++k) {
      callers.call();
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        const Region& written = callers.written[rank];
        if (written.bytes != 0 && asked[rank].bytes != 0) {
          // A slot's header is written in part.
          const auto header = static_cast<std::uint64_t>(written.begin - asked[rank].begin);
          REQUIRE(header < (each.checked ? cache_line : 1));
          REQUIRE(written.bytes + header == asked[rank].bytes);
          ++compared;
        }
        asked[rank] = callers.asked[rank];
      }
    }
    // In a rooted call one rank writes, and a rank's first call has nothing to be compared with.
    CHECK(compared >= (each.collective == Collective::all_reduce || each.collective == Collective::all_gather ? 78 : 38));
  }
}

TEST_CASE("of a call of several pieces the slots up to the ring's end are asked for") {
  Callers callers(Collective::broadcast, "one_shot", 7000, true);
  const Executable& executable = callers.executable(0, 0);
  const std::uint64_t stride = executable.slot_stride;
  REQUIRE(executable.pieces > 1);
  REQUIRE(executable.ring_slots % executable.slots_per_call != 0);
  Region asked[2];
  bool cut = false, whole = false;
  for (int k = 0; k < 24; ++k) {
    callers.call();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const Region& written = callers.written[rank];
      if (written.bytes != 0 && asked[rank].bytes != 0) {
        CHECK(asked[rank].begin >= written.begin);
        CHECK(asked[rank].begin + asked[rank].bytes <= written.begin + (written.bytes + stride - 1) / stride * stride);
        CHECK((asked[rank].begin - written.begin) % static_cast<std::ptrdiff_t>(stride) == 0);
        whole |= asked[rank].bytes == executable.pieces * stride;
        cut |= asked[rank].bytes < executable.pieces * stride;
      }
      asked[rank] = callers.asked[rank];
    }
  }
  CHECK(whole);
  CHECK(cut);
}

TEST_CASE("each look in vain asks for some lines") {
  Callers callers(Collective::all_reduce, "one_shot", 1000, false);
  callers.call();
  CHECK(callers.asked[0].bytes == 4000);
  callers.wait_alone(3);
  CHECK(callers.asked[0].bytes == 4000 - 3 * 512);
}

TEST_CASE("a call whose slots nobody asks for drops what was left to ask for, as those may be the same; one that writes none leaves it") {
  TwoRanks two{staged_layout};
  const CallIdentity identity{Collective::all_reduce, DataType::f32, ReduceOp::sum, 0, 1, 1};
  std::vector<float> buffer(40'000);
  const auto left_behind = [&](Collective collective, const char* algorithm, std::uint64_t count, std::uint32_t root) {
    const auto plan = plan_of(request_of(collective, 2, 4 * count, root), algorithm);
    REQUIRE(plan);
    const Executable executable = claiming(*plan, 0, count);
    Binding binding;
    binding.input = buffer.data();
    binding.output = buffer.data();
    two.runs[0].begin(two.contexts[0], executable, identity, 1, binding);
    return two.contexts[0].claims->left();
  };
  CHECK(left_behind(Collective::all_reduce, "one_shot", 1000, 0) == 4000);
  CHECK(left_behind(Collective::broadcast, "one_shot", 1000, 1) == 4000);
  CHECK(left_behind(Collective::all_reduce, "inline", 2, 0) == 4000);
  CHECK(left_behind(Collective::all_reduce, "two_shot", 10'000, 0) == 0);
}

TEST_CASE("nothing is asked for where that doesn't pay: by the processor, in long calls of ranks that all write, by ranks that only read") {
  CHECK(Callers(Collective::all_reduce, "one_shot", 1000, false).claim_bytes(0) == 4000);
  CHECK(Callers(Collective::all_reduce, "one_shot", 1000, false, false).claim_bytes(0) == 0);
  CHECK(Callers(Collective::all_reduce, "two_shot", 10'000, false).claim_bytes(0) == 0);
  CHECK(Callers(Collective::broadcast, "one_shot", 10'000, false).claim_bytes(0) > 32'000);
  CHECK(Callers(Collective::broadcast, "one_shot", 10'000, false).claim_bytes(1) == 0);
  CHECK(Callers(Collective::broadcast, "one_shot", 100'000, false).claim_bytes(0) == 64u << 10);
}

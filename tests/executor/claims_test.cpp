// What a rank asks for while it waits is what it writes in its next call.
#include <algorithm>
#include <cstring>

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

/// Two ranks that call one collective again and again.
class Callers {
 public:
  Callers(Collective collective, const char* algorithm, std::uint64_t count, bool roots_rotate, bool claims_pay = true) {
    for (std::uint32_t root = 0; root < (roots_rotate ? 2u : 1u); ++root) {
      const auto plan = plan_of(request_of(collective, 2, 4 * count, root), algorithm);
      REQUIRE(plan);
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        CompileRequest request;
        request.rank = rank;
        request.count = count;
        request.layout = staged_layout;
        request.ring_bytes = 32u << 10;
        request.claims_pay = claims_pay;
        auto executable = compile(lower(*plan), request);
        REQUIRE(executable);
        executables_[root][rank] = std::move(*executable);
      }
    }
    roots_ = roots_rotate ? 2 : 1;
    identity_ = CallIdentity{collective, DataType::f32, ReduceOp::sum, 0, count, 1};
    for (auto& buffer : buffers_) buffer.assign(2 * count, 1.0f);
  }

  std::uint64_t own_bytes(std::uint32_t rank) const { return std::max(executables_[0][rank].own_bytes, executables_[roots_ - 1][rank].own_bytes); }

  /// Makes the next call. Then `written` has of each rank what it wrote in its slots, `asked` what it is to ask for from then on.
  void call() {
    const auto& pair = executables_[calls_++ % roots_];
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      std::memset(staging(rank), static_cast<int>(blank), 2 * staged_layout.half_bytes);
      Binding binding;
      binding.input = buffers_[rank].data();
      binding.output = buffers_[2 + rank].data();
      two_.runs[rank].begin(two_.contexts[rank], pair[rank], identity_, 1, binding);
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
  std::byte* staging(std::uint32_t rank) { return two_.areas[rank].front().bytes + staged_layout.staging(0); }

  TwoRanks two_{staged_layout};
  Executable executables_[2][2];
  std::uint32_t roots_ = 1;
  std::uint64_t calls_ = 0;
  CallIdentity identity_;
  std::vector<float> buffers_[4];
};

}  // namespace

TEST_CASE("what a rank asks for while it waits is what it writes in its next call, wherever halves and rings go on") {
  struct Case {
    Collective collective;
    const char* algorithm;
    std::uint64_t count;
    bool roots_rotate;
  };
  for (const Case& each : {Case{Collective::all_reduce, "one_shot", 300, false}, {Collective::all_reduce, "one_shot", 1000, false},
                           {Collective::all_reduce, "two_shot", 3001, false}, {Collective::all_gather, "one_shot", 2000, false},
                           {Collective::gather, "one_shot", 1500, true}, {Collective::gather, "one_shot", 1500, false},
                           {Collective::broadcast, "one_shot", 2048, true}, {Collective::reduce, "one_shot", 700, true}}) {
    INFO(to_string(each.collective) << ' ' << each.algorithm << ", " << each.count << " elements, roots rotate " << each.roots_rotate);
    Callers callers(each.collective, each.algorithm, each.count, each.roots_rotate);
    Region asked[2];
    std::uint32_t compared = 0;
    for (int k = 0; k < 40; ++k) {
      callers.call();
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        if (callers.written[rank].bytes != 0 && asked[rank].bytes != 0) {
          REQUIRE(callers.written[rank].begin == asked[rank].begin);
          REQUIRE(callers.written[rank].bytes == asked[rank].bytes);
          ++compared;
        }
        asked[rank] = callers.asked[rank];
      }
    }
    CHECK(compared >= 38);
  }
}

TEST_CASE("nothing is asked for where that doesn't pay: by the processor, in long calls of ranks that all write, by ranks that only read") {
  CHECK(Callers(Collective::all_reduce, "one_shot", 1000, false).own_bytes(0) == 4000);
  CHECK(Callers(Collective::all_reduce, "one_shot", 1000, false, false).own_bytes(0) == 0);
  CHECK(Callers(Collective::all_reduce, "two_shot", 10'000, false).own_bytes(0) == 0);
  CHECK(Callers(Collective::broadcast, "one_shot", 10'000, false).own_bytes(0) > 32'000);
  CHECK(Callers(Collective::broadcast, "one_shot", 10'000, false).own_bytes(1) == 0);
  CHECK(Callers(Collective::broadcast, "one_shot", 100'000, false).own_bytes(0) == 64u << 10);
}

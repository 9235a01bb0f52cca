// The interpreter on memory of this process: one thread turns all ranks' cranks, so that every processor runs every variant.
#include <cstring>
#include <memory>
#include <random>

#include "executor/compile.hpp"
#include "executor/run.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr ContextLayout roomy_layout{8, 8, 400u << 10};
constexpr std::size_t guard_bytes = 4096;
constexpr std::byte guard{0xa5};

/// How the executables are compiled.
struct Variant {
  bool copies_beat_stores = false;
  bool claims_pay = false;
  bool pulls_beat_copies = false;
  std::uint64_t stream_above_bytes = ~std::uint64_t{0};
  std::uint64_t ring_bytes = roomy_layout.half_bytes;
  bool checked = false;
  bool slots_past_caches = false;
};

/// Ranks of one process over plain memory, with guards behind each area.
class Ranks {
 public:
  explicit Ranks(std::uint32_t ranks) : areas_(ranks) {
    std::vector<std::byte*> starts;
    std::vector<std::uint32_t> members(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      members[rank] = rank;
      areas_[rank].resize((roomy_layout.total_bytes() + guard_bytes) / sizeof(Line));
      std::memset(areas_[rank].data(), 0, roomy_layout.total_bytes());
      std::memset(end(rank), static_cast<int>(guard), guard_bytes);
      starts.push_back(areas_[rank].front().bytes);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) contexts_.emplace_back(roomy_layout, rank, starts, members, nullptr);
    runs_.resize(ranks);
  }

  /// One f32 all-reduce of `count` elements by the named algorithm; "" when every rank has the sum.
  std::string all_reduce(const std::string& algorithm, std::uint64_t count, bool in_place, const Variant& variant, std::uint64_t seed) {
    const auto ranks = static_cast<std::uint32_t>(contexts_.size());
    const auto plan = plan_of(request_of(Collective::all_reduce, ranks, count * 4), algorithm);
    if (!plan) return to_string(plan.error());
    std::vector<Executable> executables;
    std::vector<std::vector<float>> inputs(ranks), outputs(ranks, std::vector<float>(count, -1));
    std::vector<float> sum(count, 0);
    std::mt19937_64 random(seed);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      CompileRequest request;
      request.rank = rank;
      request.count = count;
      request.layout = roomy_layout;
      request.copies_beat_stores = variant.copies_beat_stores;
      request.claims_pay = variant.claims_pay;
      request.pulls_beat_copies = variant.pulls_beat_copies;
      request.stream_above_bytes = variant.stream_above_bytes;
      request.ring_bytes = variant.ring_bytes;
      request.checked = variant.checked;
      request.slots_past_caches = variant.slots_past_caches;
      auto executable = compile(lower(*plan), request);
      if (!executable) return to_string(executable.error());
      executables.push_back(std::move(*executable));
      for (std::uint64_t i = 0; i < count; ++i) inputs[rank].push_back(static_cast<float>(random() % 1000));
      for (std::uint64_t i = 0; i < count; ++i) sum[i] += inputs[rank][i];
    }
    const CallIdentity identity{Collective::all_reduce, DataType::f32, ReduceOp::sum, 0, count, 1};
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      runs_[rank].begin(contexts_[rank], executables[rank], identity, identity.digest(),
                        Binding{inputs[rank].data(), in_place ? inputs[rank].data() : outputs[rank].data(), 1});
    std::vector<bool> done(ranks, false);
    for (std::uint32_t left = ranks, turn = 0; left != 0; ++turn) {
      if (turn > 100'000) return "it never ends";
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (done[rank]) continue;
        const Progress progress = runs_[rank].advance(0);
        if (progress == Progress::mismatch) return "ranks disagree";
        done[rank] = progress == Progress::done;
        left -= done[rank];
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto& got = in_place ? inputs[rank] : outputs[rank];
      if (got != sum) return "rank " + std::to_string(rank) + " has a wrong sum";
      for (std::size_t i = 0; i < guard_bytes; ++i)
        if (end(rank)[i] != guard) return "rank " + std::to_string(rank) + " wrote past its area";
    }
    return "";
  }

 private:
  struct alignas(line_pair) Line {
    std::byte bytes[line_pair];
  };
  std::byte* end(std::uint32_t rank) { return areas_[rank].front().bytes + roomy_layout.total_bytes(); }

  std::vector<std::vector<Line>> areas_;
  std::vector<Context> contexts_;
  std::vector<Run> runs_;
};

}  // namespace

TEST_CASE("a reduction to several destinations gives one sum however the processor's stores are written") {
  for (const std::uint32_t ranks : {2u, 3u, 5u})
    for (const auto& [copies, claims] : {std::pair{false, false}, {true, false}, {false, true}})
      for (const std::uint64_t stream_above : {~std::uint64_t{0}, std::uint64_t{0}})
        for (const bool past_caches : {false, true})
          for (const bool in_place : {false, true}) {
            Ranks group(ranks);
            for (const std::uint64_t count : {1u, 17u, 5000u, 70'003u}) {
              INFO(ranks << " ranks, " << count << " elements, copies " << copies << ", claims " << claims << ", streamed " << (stream_above == 0)
                         << ", slots past the caches " << past_caches << ", in place " << in_place);
              const Variant variant{copies, claims, claims, stream_above, roomy_layout.half_bytes, false, past_caches};
              CHECK(group.all_reduce("two_shot", count, in_place, variant, count) == "");
            }
          }
}

TEST_CASE("checked slots hold the same sums, however stores are written, pieces are cut and slots are taken in turn") {
  for (const std::uint32_t ranks : {2u, 3u, 5u})
    for (const char* algorithm : {"one_shot", "two_shot", "ring", "tree", "recursive_doubling", "halving_doubling"})
      for (const std::uint64_t stream_above : {~std::uint64_t{0}, std::uint64_t{0}})
        for (const bool in_place : {false, true}) {
          Ranks group(ranks);
          for (const std::uint64_t count : {1u, 17u, 33u, 5000u, 70'003u})
            for (const std::uint64_t ring_bytes : {std::uint64_t{0}, roomy_layout.half_bytes}) {
              INFO(algorithm << ", " << ranks << " ranks, " << count << " elements, streamed " << (stream_above == 0) << ", in place " << in_place << ", ring "
                             << ring_bytes);
              CHECK(group.all_reduce(algorithm, count, in_place, Variant{true, true, true, stream_above, ring_bytes, true}, count) == "");
            }
        }
}

TEST_CASE("how destinations are written is marked where it pays: what reductions write is claimed, outputs are pulled out of slots") {
  const auto compiled = [](const char* algorithm, std::uint64_t count, bool claims_pay, bool pulls_beat_copies) {
    CompileRequest request;
    request.count = count;
    request.layout = roomy_layout;
    request.claims_pay = claims_pay;
    request.pulls_beat_copies = pulls_beat_copies;
    return compile(*plan_of(request_of(Collective::all_reduce, 2, count * 4), algorithm), request).value();
  };
  const auto marked = [](const Executable& executable, bool ExecOperand::* mark, ExecOperand::Kind kind) {
    const auto fits = [&](const ExecOperand& operand) { return operand.*mark && operand.kind == kind; };
    return std::count_if(executable.operands.begin(), executable.operands.end(), fits);
  };
  constexpr std::uint64_t count = 10'000;
  CHECK(marked(compiled("two_shot", count, true, false), &ExecOperand::claimed, ExecOperand::slot) == 1);
  CHECK(marked(compiled("two_shot", count, true, false), &ExecOperand::claimed, ExecOperand::user) == 1);
  CHECK(marked(compiled("two_shot", count, false, false), &ExecOperand::claimed, ExecOperand::slot) == 0);
  CHECK(marked(compiled("one_shot", count, true, false), &ExecOperand::claimed, ExecOperand::slot) == 0);  // its reductions end in the output
  CHECK(marked(compiled("one_shot", count, true, false), &ExecOperand::claimed, ExecOperand::user) == 1);
  CHECK(marked(compiled("two_shot", count, false, true), &ExecOperand::pulled, ExecOperand::user) == 1);
  CHECK(marked(compiled("two_shot", count, false, true), &ExecOperand::pulled, ExecOperand::slot) == 0);
  CHECK(marked(compiled("two_shot", count, false, false), &ExecOperand::pulled, ExecOperand::user) == 0);
}

TEST_CASE("slots are written past the caches where that is asked for, and nothing else is for it") {
  for (const bool asked : {false, true}) {
    CompileRequest request;
    request.count = 10'000;
    request.layout = roomy_layout;
    request.slots_past_caches = asked;
    const auto executable = compile(*plan_of(request_of(Collective::all_reduce, 2, 40'000), "two_shot"), request);
    REQUIRE(executable);
    std::size_t destinations = 0;
    for (const ExecStep& step : executable->steps)
      for (std::uint32_t i = 0; i < step.sources + step.destinations; ++i) {
        const ExecOperand& operand = executable->operands[step.first_operand + i];
        const bool written = i >= step.sources && operand.kind == ExecOperand::slot;
        destinations += written ? 1 : 0;
        CHECK(operand.streamed == (asked && written));
      }
    CHECK(destinations >= 2);
  }
}

TEST_CASE("near ranks pull out of slots alone, and not past the caches what is streamed there") {
  const auto compiled = [](bool slots_past_caches) {
    CompileRequest request;
    request.count = 10'000;
    request.layout = roomy_layout;
    request.pulls_near = true;
    request.cached_bytes = 0;
    request.stream_above_bytes = 0;
    request.slots_past_caches = slots_past_caches;
    return compile(*plan_of(request_of(Collective::all_gather, 2, 80'000), "one_shot"), request).value();
  };
  const auto pulled = [](const Executable& executable) {
    return std::count_if(executable.operands.begin(), executable.operands.end(), [](const ExecOperand& operand) { return operand.pulled; });
  };
  CHECK(pulled(compiled(false)) == 1);
  CHECK(pulled(compiled(true)) == 0);
  for (const ExecOperand& operand : compiled(false).operands)
    if (operand.pulled) CHECK(operand.streamed);  // out of place
}

TEST_CASE("what is read in peers' memory is pulled, too, where that is asked for, but not while they write to this rank's") {
  const auto pulled = [](Collective collective, const char* algorithm, bool directly) {
    CompileRequest request;
    request.count = 10'000;
    request.layout = roomy_layout;
    request.direct = request.pulls_near = true;
    request.pulls_directly = directly;
    const auto executable = compile(*plan_of(request_of(collective, 2, 80'000), algorithm), request);
    REQUIRE(executable);
    return std::count_if(executable->operands.begin(), executable->operands.end(), [](const ExecOperand& operand) { return operand.pulled; });
  };
  CHECK(pulled(Collective::all_gather, "direct_one_shot", true) == 1);
  CHECK(pulled(Collective::all_gather, "direct_one_shot", false) == 0);
  CHECK(pulled(Collective::gather, "direct_push_pull", true) == 0);
}

TEST_CASE("what a rank copies for itself is pulled, too, where the caches don't hold the output") {
  const auto pulled = [](std::uint64_t cached_bytes) {
    CompileRequest request;
    request.count = 10'000;
    request.layout = roomy_layout;
    request.pulls_beat_copies = true;
    request.cached_bytes = cached_bytes;
    const auto executable = compile(*plan_of(request_of(Collective::all_gather, 2, 80'000), "one_shot"), request);
    REQUIRE(executable);
    return std::count_if(executable->operands.begin(), executable->operands.end(), [](const ExecOperand& operand) { return operand.pulled; });
  };
  CHECK(pulled(80'000) == 1);  // the other rank's block
  CHECK(pulled(79'999) >= 2);
}

TEST_CASE("what a root keeps of what it hands out in shared copies is streamed where no cache holds it") {
  const auto streams = [](Collective collective, std::uint64_t cached_bytes) {
    CompileRequest request;
    request.count = 10'000;
    request.layout = roomy_layout;
    request.direct = true;
    request.stream_above_bytes = 0;
    request.cached_bytes = cached_bytes;
    const auto executable = compile(*plan_of(request_of(collective, 2, 80'000), "direct_push_pull"), request);
    REQUIRE(executable);
    return std::any_of(executable->operands.begin(), executable->operands.end(), [](const ExecOperand& operand) { return operand.streamed; });
  };
  CHECK(streams(Collective::scatter, 0));
  CHECK(!streams(Collective::scatter, 1 << 20));
  CHECK(streams(Collective::gather, 1 << 20));
}

TEST_CASE("outputs are streamed or claimed, and out of place alone; slots are claimed always") {
  ExecOperand output, slot;
  slot.kind = ExecOperand::slot;
  output.claimed = slot.claimed = true;
  const auto hints = [](const ExecOperand& operand, bool out_of_place) {
    StoreHints made;
    made.add(operand, 3, out_of_place);
    return std::pair(made.streamed, made.claimed);
  };
  CHECK(hints(slot, false) == std::pair<std::uint64_t, std::uint64_t>(0, 8));
  CHECK(hints(output, true) == std::pair<std::uint64_t, std::uint64_t>(0, 8));
  CHECK(hints(output, false) == std::pair<std::uint64_t, std::uint64_t>(0, 0));
  output.streamed = true;
  CHECK(hints(output, true) == std::pair<std::uint64_t, std::uint64_t>(8, 0));
  CHECK(hints(output, false) == std::pair<std::uint64_t, std::uint64_t>(0, 0));
}

TEST_CASE("in place a rank knows its block of the larger buffer, and streams what is new memory there") {
  const auto compiled = [](Collective collective, std::uint64_t stream_above_bytes) {
    CompileRequest request;
    request.rank = 1;
    request.count = 10'000;  // of a block
    request.layout = roomy_layout;
    request.stream_above_bytes = stream_above_bytes;
    return compile(lower(*plan_of(Request{.collective = collective, .ranks = 2, .count = 10'000})), request).value();
  };
  constexpr std::uint64_t none = ~std::uint64_t{0};
  CHECK(compiled(Collective::all_gather, none).input_in_output == 40'000);
  CHECK(compiled(Collective::reduce_scatter, none).input_in_output == -40'000);
  CHECK(compiled(Collective::all_reduce, none).input_in_output == 0);
  // What is touched is a half of what outputs at the limit, out of place, touch with their inputs.
  CHECK(compiled(Collective::all_gather, 39'999).streams_in_place);
  CHECK_FALSE(compiled(Collective::all_gather, 40'000).streams_in_place);
  CHECK(compiled(Collective::gather, 19'999).streams_in_place);
  CHECK_FALSE(compiled(Collective::gather, 20'000).streams_in_place);
  CHECK(compiled(Collective::scatter, 19'999).streams_in_place);
  CHECK_FALSE(compiled(Collective::reduce_scatter, 0).streams_in_place);
  CHECK_FALSE(compiled(Collective::all_reduce, 0).streams_in_place);
}

TEST_CASE("blocks with less than a cache line for each chunk are summed right by every algorithm") {
  for (const std::uint32_t ranks : {2u, 3u, 5u}) {
    Ranks group(ranks);
    for (const char* algorithm : {"inline", "one_shot", "two_shot", "ring", "tree", "recursive_doubling", "halving_doubling"})
      for (const bool in_place : {false, true})
        for (std::uint64_t count = 1; count <= 16 * ranks + 2; count += count < 8 ? 1 : 3) {
          INFO(algorithm << ", " << ranks << " ranks, " << count << " elements, in place " << in_place);
          CHECK(group.all_reduce(algorithm, count, in_place, Variant{}, count) == "");
        }
  }
}

TEST_CASE("algorithms of few rounds sum right in slots, checked or not, in place or not") {
  for (const auto& [algorithm, ranks] : {std::pair{"swing", 2u}, {"swing", 4u}, {"swing", 8u}, {"bine", 2u}, {"bine", 6u}, {"bine", 8u}}) {
    Ranks group(ranks);
    for (const bool in_place : {false, true})
      for (const bool checked : {false, true})
        for (const std::uint64_t count : {1u, 5u, 17u, 33u, 5000u, 70'003u}) {
          INFO(algorithm << ", " << ranks << " ranks, " << count << " elements, in place " << in_place << ", checked " << checked);
          CHECK(group.all_reduce(algorithm, count, in_place, Variant{.checked = checked}, count) == "");
        }
  }
}

TEST_CASE("slots begin at cache lines however short the chunks are") {
  for (const std::uint64_t count : {1u, 2u, 3u, 7u, 33u, 5000u})
    for (const char* algorithm : {"one_shot", "two_shot", "ring", "halving_doubling"}) {
      INFO(algorithm << ", " << count << " elements");
      const auto plan = plan_of(request_of(Collective::all_reduce, 3, count * 4), algorithm);
      REQUIRE(plan);
      CompileRequest request;
      request.count = count;
      request.layout = roomy_layout;
      const auto executable = compile(lower(*plan), request);
      REQUIRE(executable);
      CHECK(executable->slot_stride % 64 == 0);
      std::size_t slots = 0;
      for (const ExecOperand& operand : executable->operands) {
        if (operand.kind != ExecOperand::slot) continue;
        ++slots;
        CHECK(operand.offset % 64 == 0);
      }
      CHECK(slots > 0);
    }
}

TEST_CASE("calls of all sizes in turn stay right while they go round through the staging") {
  Ranks group(3);
  std::mt19937_64 random(7);
  const std::uint64_t counts[] = {2, 300, 600, 2000, 5000, 8192, 50'000, 200'000};
  for (int call = 0; call < 300; ++call) {
    const std::uint64_t count = counts[random() % 8];
    INFO("call " << call << ", " << count << " elements");
    REQUIRE(group.all_reduce(random() % 2 == 0 ? "one_shot" : "two_shot", count, random() % 2 == 0, Variant{}, random()) == "");
  }
}

TEST_CASE("a plan that names no size of pieces sends messages of a mebibyte at most") {
  const auto pieces = [](std::uint32_t piece_bytes, std::uint64_t bytes) {
    auto plan = plan_of(request_of(Collective::all_reduce, 2, bytes), "ring");
    REQUIRE(plan);
    plan->header.piece_bytes = piece_bytes;
    CompileRequest request;
    request.count = bytes / 4;
    request.layout = roomy_layout;
    request.reach = Reach::messages;
    const auto executable = compile(lower(*plan, true), request);
    REQUIRE(executable);
    return std::pair{executable->piece_bytes, executable->pieces};
  };
  using Pieces = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(pieces(0, 8 << 20) == Pieces{1 << 20, 4});  // of a half each
  CHECK(pieces(0, 64 << 10) == Pieces{32 << 10, 1});
  CHECK(pieces(2 << 20, 8 << 20) == Pieces{2 << 20, 2});
}

TEST_CASE("slots are taken in turn from as much staging as is wanted, by calls of 2 KiB and more") {
  const auto ring = [](std::uint64_t bytes, std::uint64_t ring_bytes, Reach reach = Reach::memory) {
    CompileRequest request;
    request.count = bytes / 4;
    request.layout = roomy_layout;
    request.ring_bytes = ring_bytes;
    request.reach = reach;
    const auto plan = plan_of(request_of(Collective::all_reduce, 2, bytes), "one_shot");
    REQUIRE(plan);
    const auto executable = compile(lower(*plan), request);
    REQUIRE(executable);
    CHECK(executable->slot_stride * executable->ring_slots <= roomy_layout.half_bytes);
    CHECK(executable->slots_per_call <= executable->ring_slots);
    return std::pair{executable->ring_slots, executable->slots_per_call};
  };
  using Ring = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(ring(256, 128 << 10) == Ring{4, 0});
  CHECK(ring(4 << 10, 128 << 10) == Ring{32, 1});
  CHECK(ring(32 << 10, 128 << 10) == Ring{4, 1});  // room for as many as the plan asks for
  CHECK(ring(48 << 10, 128 << 10) == Ring{2, 1});  // not for these, but a call of one piece needs one
  CHECK(ring(64 << 10, 128 << 10) == Ring{2, 1});
  CHECK(ring(256 << 10, 128 << 10) == Ring{4, 0});
  CHECK(ring(64 << 10, 384 << 10) == Ring{6, 1});
  CHECK(ring(64 << 10, 4 << 20) == Ring{6, 1});
  CHECK(ring(256 << 10, 384 << 10) == Ring{6, 4});
  CHECK(ring(4 << 20, 384 << 10) == Ring{6, 6});
  CHECK(ring(4 << 20, 0) == Ring{4, 0});
  CHECK(ring(4 << 10, 128 << 10, Reach::messages) == Ring{4, 0});
}

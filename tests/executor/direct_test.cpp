// Buffers that peers read: what a rank makes of a peer that fails meanwhile, or that tells nonsense.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "executor/compile.hpp"
#include "executor/layouts.hpp"
#include "executor/run.hpp"
#include "planner/requests.hpp"
#include "support/plan_steps.hpp"

namespace {

/// What the kernel answers in this program, an errno, or 0: what it does; and how often it was asked.
int refused_write = 0;
int writes = 0;

}  // namespace

extern "C" ssize_t process_vm_writev(pid_t process, const iovec* own, unsigned long own_count, const iovec* other, unsigned long other_count,
                                     unsigned long flags) {
  ++writes;
  if (refused_write != 0) {
    errno = refused_write;
    return -1;
  }
  return syscall(SYS_process_vm_writev, process, own, own_count, other, other_count, flags);
}

namespace {

using namespace rondo;
using namespace rondo::test;

constexpr std::uint64_t gathered_count = 100;

/// Two ranks that gather `gathered_count` numbers from each, at both or at rank 0, over plain memory; homes are their inputs and outputs. `fetches`: the kernel
/// copies.
struct Pair {
  struct alignas(line_pair) Area {
    std::byte bytes[4096] = {};
  };
  struct Home {
    std::array<std::int32_t, gathered_count> input{};
    std::array<std::int32_t, 2 * gathered_count> output{};
  };

  explicit Pair(bool fetches = false, Collective collective = Collective::all_gather, const char* algorithm = "direct_one_shot",
                const void* input_of_1 = nullptr, std::uint32_t piece_bytes = 4096) {
    identity.collective = collective;
    auto plan = plan_of(request_of(collective, 2, gathered_count * 4), algorithm);
    plan->header.piece_bytes = piece_bytes;
    std::vector<std::uintptr_t> begins;
    for (Home& home : homes) begins.push_back(reinterpret_cast<std::uintptr_t>(&home));
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      homes[rank].input.fill(static_cast<std::int32_t>(rank) + 7);
      contexts.emplace_back(bare_layout, rank, std::vector<std::byte*>{areas[0].bytes, areas[1].bytes}, std::vector<std::uint32_t>{0, 1}, nullptr);
      contexts.back().homes = Homes(begins, sizeof(Home));
      CompileRequest request;
      request.rank = rank;
      request.count = gathered_count;
      request.type = DataType::i32;
      request.layout = bare_layout;
      request.direct = true;
      request.fetches = fetches;
      if (fetches) contexts.back().processes.assign(2, getpid());
      executables.push_back(compile(*plan, request).value());
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const void* const input = rank == 1 && input_of_1 != nullptr ? input_of_1 : &homes[rank].input;
      runs[rank].begin(contexts[rank], executables[rank], identity, identity.digest(), Binding{input, &homes[rank].output, 1});
    }
  }

  std::uint64_t signals_of(std::uint32_t rank) { return contexts[0].lane(rank, 0).progress.load() & (max_signals - 1); }

  CallIdentity identity{Collective::all_gather, DataType::i32, ReduceOp::sum, 0, gathered_count, 1, true};
  std::array<Area, 2> areas;
  std::array<Home, 2> homes;
  std::vector<Context> contexts;
  std::vector<Executable> executables;
  std::array<Run, 2> runs;
};

}  // namespace

TEST_CASE("ranks read one another's buffers where they are") {
  const bool fetches = GENERATE(false, true);
  Pair pair(fetches);
  REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
  REQUIRE(pair.runs[1].advance(0) == Progress::blocked);
  REQUIRE(pair.runs[0].advance(0) == Progress::done);
  REQUIRE(pair.runs[1].advance(0) == Progress::done);
  for (const auto& home : pair.homes)
    for (std::size_t i = 0; i < 2 * gathered_count; ++i) REQUIRE(home.output[i] == static_cast<std::int32_t>(i / gathered_count) + 7);
}

TEST_CASE("what was read of a peer that has failed meanwhile is not passed off as read") {
  const bool fetches = GENERATE(false, true);
  Pair pair(fetches);
  REQUIRE(pair.runs[1].advance(0) == Progress::blocked);
  pair.contexts[1].lane(1, 0).broken.store(1);
  REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
  CHECK(pair.signals_of(0) == 1);  // it has begun, and no more
  REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
  CHECK(pair.signals_of(0) == 1);
}

TEST_CASE("either of two ranks makes the copies that the other hasn't taken") {
  const bool fetches = GENERATE(false, true);
  Pair pair(fetches, Collective::gather, "direct_push_pull");
  SharedWord& last = pair.contexts[0].once(1, 1, 9);
  const std::uint64_t earlier = GENERATE(std::uint64_t{0}, (~std::uint64_t{0} << progress_call_shift) + 9);  // as calls before have left it
  REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
  last.store((std::uint64_t{1} << progress_call_shift) + 1);
  REQUIRE(pair.runs[1].advance(0) == Progress::blocked);
  const auto& gathered = pair.homes[0].output;
  CHECK(gathered[gathered_count] == 8);  // the first chunk is there, and the root hasn't made the other yet
  CHECK(gathered[2 * gathered_count - 1] == 0);
  last.store(earlier);
  REQUIRE(pair.runs[0].advance(0) == Progress::done);
  REQUIRE(pair.runs[1].advance(0) == Progress::done);
  for (std::size_t i = 0; i < 2 * gathered_count; ++i) REQUIRE(gathered[i] == static_cast<std::int32_t>(i / gathered_count) + 7);
}

TEST_CASE("chunks that a copy between users' buffers takes in a row are moved as one, as long as a piece may be") {
  const auto copies = [](std::uint64_t bytes, std::uint32_t piece_bytes) {
    auto plan = plan_of(request_of(Collective::scatter, 2, bytes), "direct_push_pull");
    plan->header.piece_bytes = piece_bytes;
    CompileRequest request;
    request.count = bytes / 4;
    request.type = DataType::i32;
    request.layout = bare_layout;
    request.direct = true;
    const Executable executable = compile(*plan, request).value();
    std::vector<std::uint64_t> lengths;
    for (const ExecStep& step : executable.steps)
      if (step.op == ExecOp::copy) lengths.push_back(std::min(step.chunk_bytes, executable.piece_bytes));
    return lengths;
  };
  constexpr std::uint64_t kib = 1024;
  // The root's own block, then its rank's from the end.
  const std::vector<std::uint64_t> shares{512 * kib, 32 * kib, 32 * kib, 32 * kib, 32 * kib, 64 * kib, 64 * kib, 128 * kib, 128 * kib};
  CHECK(copies(512 * kib, 4096 * kib) == shares);
  const std::vector<std::uint64_t> shorter = copies(512 * kib, 64 * kib);  // of four chunks and more each by itself
  CHECK(std::count(shorter.begin(), shorter.end(), 32 * kib) == 16 + 4 + 8);
  CHECK(std::count(shorter.begin(), shorter.end(), 64 * kib) == 2);
  const std::vector<std::uint64_t> in_pieces = copies(512 * kib, 16 * kib);  // each chunk by itself
  CHECK(in_pieces.size() == 32);
  CHECK(std::all_of(in_pieces.begin(), in_pieces.end(), [](std::uint64_t length) { return length == 16 * kib; }));
}

namespace {

/// What a root of two ranks runs that does these steps of a broadcast on blocks of four chunks, straight in users' buffers.
Executable compiled_root(std::vector<Step> steps, std::uint64_t count, std::uint32_t piece_bytes, bool fetches) {
  PlanHeader header;
  header.collective = Collective::broadcast;
  header.ranks = 2;
  header.protocol = Protocol::direct;
  header.neutral = false;
  header.chunks_per_block = 4;
  header.scratch_chunks = 2;
  header.piece_bytes = piece_bytes;
  Program root;
  root.lanes = {{std::move(steps)}};
  CompileRequest request;
  request.count = count;
  request.type = DataType::i32;
  request.layout = bare_layout;
  request.layout.half_bytes = 1u << 20;
  request.direct = true;
  request.fetches = fetches;
  return compile(Plan(header, {root, Program{}}), request).value();
}

}  // namespace

TEST_CASE("slots lie where they lie, whatever is moved as one before them") {
  const auto slot_of = [](const std::vector<Step>& steps) {
    const Executable executable = compiled_root(steps, gathered_count, 1024, false);
    for (const ExecOperand& operand : executable.operands)
      if (operand.kind == ExecOperand::slot) return operand.offset;
    return ~std::uint64_t{0};
  };
  const Step run = copy(input(0, self, 4), {output(0, self, 4)}), publish = copy(input(1), {scratch(1)});
  REQUIRE(slot_of({signal(), publish}) != ~std::uint64_t{0});
  CHECK(slot_of({signal(), run, publish}) == slot_of({signal(), publish, run}));
}

TEST_CASE("what a rank keeps is put off, but not a run of chunks of which another step reads one") {
  const Step run = copy(input(0, self, 4), {output(0, self, 4)}), reader = copy(output(2), {scratch(0)});
  CHECK(compiled_root({signal(), run}, 1u << 16, 1u << 20, true).kept.steps == 1);
  CHECK(compiled_root({signal(), run, reader}, 1u << 16, 1u << 20, true).kept.steps == 0);
}

TEST_CASE("a copy that no rank shares out is made by the owner of its word") {
  const auto plan = plan_of(request_of(Collective::gather, 2, gathered_count * 4), "direct_push_pull");
  CompileRequest request;
  request.count = gathered_count;
  request.type = DataType::i32;
  request.layout = bare_layout;
  request.direct = true;
  request.shares_out = false;
  for (request.rank = 0; request.rank < 2; ++request.rank) {
    const Executable executable = compile(*plan, request).value();
    const auto is_copy = [](const ExecStep& step) { return step.op == ExecOp::copy; };
    CHECK(std::count_if(executable.steps.begin(), executable.steps.end(), is_copy) == (request.rank == 0 ? 1 : 2));
    CHECK(std::none_of(executable.steps.begin(), executable.steps.end(), [](const ExecStep& step) { return step.op == ExecOp::once; }));
    CHECK(executable.writes_peers == (request.rank == 1));
  }
}

TEST_CASE("nothing is pushed to a peer that has failed or died, nor any more to one that fails meanwhile") {
  Pair pair(true, Collective::gather, "direct_push_pull", nullptr, 64);
  writes = 0;
  REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
  SECTION("it has failed") { pair.contexts[0].lane(0, 0).broken.store(1); }
  SECTION("it has died") { pair.contexts[1].processes[0] = std::numeric_limits<pid_t>::max(); }
  SECTION("it fails before the second piece") {
    REQUIRE(pair.runs[1].advance(0) == Progress::blocked);
    REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
    REQUIRE(writes == 2);
    pair.contexts[0].lane(0, 0).broken.store(1);
    pair.homes[0].output.fill(0);
    writes = 0;
  }
  CHECK(pair.runs[1].advance(0) == Progress::blocked);
  CHECK(pair.runs[1].refusal().reason == 0);
  CHECK(pair.contexts[1].status(1).reads.load() == 0);
  for (std::size_t i = gathered_count; i < 2 * gathered_count; ++i) CHECK(pair.homes[0].output[i] == 0);  // its own block the root has by now
}

TEST_CASE("what can't be pushed is told apart: an output that can't be written is the peer's, an input that can't be read this rank's") {
  const int failure = GENERATE(EFAULT, EPERM, ENOMEM);
  const bool input = GENERATE(false, true);
  if (input && failure != EFAULT) return;
  Pair pair(true, Collective::gather, "direct_push_pull", input ? reinterpret_cast<const void*>(16) : nullptr);
  REQUIRE(pair.runs[0].advance(0) == Progress::blocked);
  if (failure != EFAULT) refused_write = failure;
  else if (!input) pair.contexts[0].lane(0, 0).buffers[1][1].store(1);
  CHECK(pair.runs[1].advance(0) == Progress::mismatch);
  refused_write = 0;
  const Refusal& refusal = pair.runs[1].refusal();
  CHECK(refusal.reason == failure);
  CHECK(pair.runs[1].disagreeing_rank() == 0);
  CHECK(refusal.written == !input);
  CHECK(refusal.own == input);
}

TEST_CASE("a peer whose buffer is told to be outside of its memory disagrees") {
  for (const std::uint64_t word : {no_buffer, std::uint64_t{sizeof(Pair::Home)}, sizeof(Pair::Home) - gathered_count * 4 + 1, ~std::uint64_t{0} - 4}) {
    Pair pair;
    REQUIRE(pair.runs[1].advance(0) == Progress::blocked);
    pair.contexts[1].lane(1, 0).buffers[1][0].store(word);  // of the first call
    CHECK(pair.runs[0].advance(0) == Progress::mismatch);
    CHECK(pair.runs[0].disagreeing_rank() == 1);
  }
}

TEST_CASE("a buffer that the kernel can't read is told apart from one of a rank that has failed or died") {
  const auto told = [](Pair& pair) -> SharedWord& { return pair.contexts[1].lane(1, 0).buffers[1][0]; };  // of the first call
  Pair pair(true);
  REQUIRE(pair.runs[1].advance(0) == Progress::blocked);
  told(pair).store(1);
  SECTION("it disagrees") {
    CHECK(pair.runs[0].advance(0) == Progress::mismatch);
    CHECK(pair.runs[0].refusal().reason == EFAULT);
    CHECK(pair.runs[0].disagreeing_rank() == 1);
  }
  SECTION("it has failed") {
    pair.contexts[1].lane(1, 0).broken.store(1);
    CHECK(pair.runs[0].advance(0) == Progress::blocked);
    CHECK(pair.runs[0].refusal().reason == 0);
  }
  SECTION("it has died") {
    pair.contexts[0].processes[1] = std::numeric_limits<pid_t>::max();
    CHECK(pair.runs[0].advance(0) == Progress::blocked);
    CHECK(pair.runs[0].refusal().reason == 0);
  }
}

TEST_CASE("the kernel copies, and combines nothing") {
  CompileRequest request;
  request.count = gathered_count;
  request.layout = bare_layout;
  request.direct = request.fetches = true;
  const auto executable = compile(*plan_of(request_of(Collective::all_reduce, 2, gathered_count * 4), "direct_one_shot"), request);
  REQUIRE(!executable);
  CHECK(executable.error().detail.find("as the kernel can") != std::string::npos);
}

TEST_CASE("plans that reach for buffers before they wait for their rank, or for more than the kernel does, are refused") {
  bool fetches = false;
  const auto refusal = [&fetches](const Lane& first, const Lane& second) {
    PlanHeader header;
    header.collective = Collective::broadcast;
    header.protocol = Protocol::direct;
    header.ranks = 2;
    header.in_place = false;
    CompileRequest request;
    request.rank = 1;
    request.count = 4;
    request.layout = bare_layout;
    request.direct = true;
    request.fetches = fetches;
    const auto executable = compile(Plan(header, std::vector<Program>{{{first}}, {{second}}}), request);
    return executable ? std::string("accepted") : executable.error().detail;
  };
  const Step begun{StepKind::signal, false, 0, {}, {}, {}, {}};
  const Step wait{StepKind::wait, false, 0, {0, 0, 0, 0}, {}, {}, {}};
  Step read{StepKind::copy, false, 0, {}, {{Buffer::input, 0, 0, 1}}, {{Buffer::output, self, 0, 1}}, {}};
  CHECK(refusal({{begun}}, {{wait, read}}) == "accepted");
  CHECK(refusal({{begun}}, {{read, wait}}).find("before it waits") != std::string::npos);
  Step late = wait;
  late.skew = 1;
  CHECK(refusal({{begun}}, {{late, read}}).find("before it waits") != std::string::npos);
  const Step write{StepKind::copy, false, 0, {}, {{Buffer::output, self, 0, 1}}, {{Buffer::output, 0, 0, 1}}, {}};
  CHECK(refusal({{begun}}, {{wait, write}}) == "accepted");
  fetches = true;  // of this rank's memory inputs alone, and from one place to one
  CHECK(refusal({{begun}}, {{wait, write}}).find("insert_shadows first") != std::string::npos);
  Step push = write;
  push.sources = {{Buffer::input, self, 0, 1}};
  CHECK(refusal({{begun}}, {{wait, push}}) == "accepted");
  push.destinations.push_back({Buffer::output, self, 0, 1});
  CHECK(refusal({{begun}}, {{wait, push}}).find("insert_shadows first") != std::string::npos);
}

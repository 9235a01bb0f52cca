// Surroundings that ranks don't choose: containers, full file systems, messages beyond 32 bits, buffers that half overlap.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "executor/compile.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

/// "" when the system call went well.
std::string failure(const char* what, int result) {
  return result == 0 ? "" : std::string(what) + ": " + std::strerror(errno);
}

/// From here on /dev/shm has room for one page, and /proc (where asked for) shows this PID name space: for this process alone.
std::string mount_like_a_container(bool with_proc) {
  if (auto wrong = failure("mount / private", mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr)); !wrong.empty()) return wrong;
  if (auto wrong = failure("mount /dev/shm", mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k")); !wrong.empty()) return wrong;
  return with_proc ? failure("mount /proc", mount("proc", "/proc", "proc", 0, nullptr)) : "";
}

bool dev_shm_takes(off_t bytes) {
  const int file = open("/dev/shm/probe", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool fits = file >= 0 && posix_fallocate(file, 0, bytes) == 0;
  close(file);
  unlink("/dev/shm/probe");
  return fits;
}

std::string reduce_a_mebibyte(std::uint32_t rank, const std::string& job) {
  CommunicatorOptions options;
  options.bootstrap_timeout = options.timeout = std::chrono::seconds(20);
  auto communicator = Communicator::local(rank, 2, job, options);
  if (!communicator) return to_string(communicator.error());
  std::vector<float> values((1 << 20) / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000 + rank);
  if (auto done = communicator->all_reduce(values.data(), values.data(), values.size(), DataType::f32); !done) return to_string(done.error());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<float>(2 * (i % 1000) + 1)) return "element " + std::to_string(i) + " is " + std::to_string(values[i]);
  return "";
}

constexpr int mounts_alone = CLONE_NEWNS;
constexpr int container = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID;

/// `body` as the first process in name spaces of its own. unshare() gives a new PID name space to the caller's children alone.
std::string inside(int spaces, const ChildBody& body) {
  if (auto wrong = failure("unshare", unshare(spaces)); !wrong.empty()) return wrong;
  return run_children({[&]() -> std::string {
    const bool own_pids = (spaces & CLONE_NEWPID) != 0;
    if (auto wrong = mount_like_a_container(own_pids); !wrong.empty()) return wrong;
    return own_pids && getpid() != 1 ? "it is not the first process of its PID name space" : body();
  }}).front();
}

ChildBody rank_inside(int spaces, std::uint32_t rank, const std::string& job) {
  return [=]() -> std::string {
    return inside(spaces, [&]() -> std::string {
      if (!dev_shm_takes(4096) || dev_shm_takes(8192)) return "/dev/shm is not of one page";
      return reduce_a_mebibyte(rank, job);
    });
  };
}

/// Whether this process may do what a container's maker does. Where it may not, says so in the words of tests/allowed-skips.txt.
bool may_make_containers() {
  const std::string hindrance = complaints(run_children({[]() -> std::string { return inside(container, []() -> std::string { return ""; }); }}));
  if (!hindrance.empty()) std::printf("rondo-skip: name spaces need root: %s", hindrance.c_str());
  return hindrance.empty();
}

/// Address space without memory behind it until it is written.
class Reserved {
 public:
  explicit Reserved(std::uint64_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = at == MAP_FAILED ? nullptr : static_cast<unsigned char*>(at);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  unsigned char* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_;
  unsigned char* data_;
};

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t period = 4093 * page;  // a prime: no power of two apart do two places have the same bytes
constexpr std::uint64_t window_bytes = 256 * page;

/// The same `period` bytes of memory again and again over the whole of `space`.
bool repeat(const Reserved& space) {
  const int file = memfd_create("repeated", MFD_CLOEXEC);
  bool fine = file >= 0 && space.data() != nullptr && ftruncate(file, period) == 0;
  for (std::uint64_t at = 0; fine && at < space.bytes(); at += period)
    fine = mmap(space.data() + at, std::min(period, space.bytes() - at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  close(file);
  return fine;
}

/// Memory of its own for the window that begins at a page.
bool separate(const Reserved& space, std::uint64_t begin) {
  const std::uint64_t length = std::min(window_bytes, space.bytes() - begin);
  return mmap(space.data() + begin, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

unsigned char pattern(std::uint64_t place) { return static_cast<unsigned char>((place % period * 0x9e3779b97f4a7c15u) >> 56); }

/// The first of [begin, end) that isn't `factor` times the pattern; `end` when all are.
std::uint64_t first_off_pattern(const unsigned char* data, std::uint64_t begin, std::uint64_t end, unsigned factor) {
  while (begin < end && data[begin] == static_cast<unsigned char>(factor * pattern(begin))) ++begin;
  return begin;
}

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

/// Runs an all-reduce or all-gather of `count` bytes. The input repeats, and so does the right output, so that memory which
/// repeats can hold them; where numbers of 31 and 32 bits end, at the begin and at the end the output has memory of its own,
/// which nothing but a write to that very place can set right.
std::string move_many_bytes(Communicator& communicator, Collective collective, std::uint64_t count) {
  const bool gather = collective == Collective::all_gather;
  const std::uint64_t total = gather ? count * communicator.size() : count;
  const std::uint64_t shift = gather ? communicator.rank() * count % period : 0;
  const Reserved input(whole_pages(count + period)), output(whole_pages(total));
  if (!repeat(input) || !repeat(output)) return std::string("no address space: ") + std::strerror(errno);
  const std::uint64_t bits31 = std::uint64_t{1} << 31, bits32 = std::uint64_t{1} << 32;
  std::vector<std::uint64_t> windows{0, bits31 - window_bytes / 2, (total - window_bytes / 2) / page * page};
  if (total > bits32 + window_bytes) windows.push_back(bits32 - window_bytes / 2);
  for (const std::uint64_t begin : windows)
    if (!separate(output, begin)) return std::string("no address space: ") + std::strerror(errno);
  for (std::uint64_t i = 0; i < period; ++i) input.data()[i] = pattern(i);

  const Call call{collective, input.data() + shift, output.data(), count, DataType::u8, ReduceOp::sum};
  if (auto done = communicator.run(call); !done) return to_string(done.error());
  const unsigned factor = gather ? 1 : communicator.size();
  const auto check = [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t wrong = first_off_pattern(output.data(), begin, end, factor);
    return wrong == end ? "" : "byte " + std::to_string(wrong) + " of " + std::to_string(total) + " is wrong; ";
  };
  std::string wrong = check(window_bytes, window_bytes + period);  // all of what repeats
  for (const std::uint64_t begin : windows) wrong += check(begin, std::min(total, begin + window_bytes));
  return wrong;
}

/// "" when the places that `executable` writes of its output are exactly the first `total` bytes.
std::string coverage(const Executable& executable, std::uint64_t total) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> written;
  for (const ExecStep& step : executable.steps)
    for (std::uint32_t k = 0; k < step.destinations; ++k) {
      const ExecOperand& operand = executable.operands[step.first_operand + step.sources + k];
      if (operand.kind == ExecOperand::user && operand.base == base_output) written.emplace_back(operand.offset, operand.offset + step.chunk_bytes);
    }
  std::sort(written.begin(), written.end());
  std::uint64_t reached = 0;
  for (const auto& [begin, end] : written) {
    if (begin > reached) return "nothing writes bytes " + std::to_string(reached) + " to " + std::to_string(begin);
    reached = std::max(reached, end);
  }
  return reached == total ? "" : "it ends at byte " + std::to_string(reached) + ", not " + std::to_string(total);
}

std::string expect_overlap(const Result<void>& result, const std::string& what) {
  if (result) return what + ": accepted";
  const bool right = result.error().code == Errc::invalid_argument && result.error().detail.find("overlap") != std::string::npos;
  return right ? "" : what + ": " + to_string(result.error());
}

std::string expect_sum(const Result<void>& result, const float* values, std::size_t count, float expected, const std::string& what) {
  if (!result) return what + ": " + to_string(result.error());
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] != expected) return what + ": element " + std::to_string(i) + " is " + std::to_string(values[i]);
  return "";
}

}  // namespace

TEST_CASE("ranks whose /dev/shm has room for one page reduce a mebibyte all the same") {
  if (!may_make_containers()) return;
  const std::string job = fresh_job();
  CHECK(complaints(run_children({rank_inside(mounts_alone, 0, job), rank_inside(mounts_alone, 1, job)}, 60)) == "");
}

TEST_CASE("a rank in mount, IPC and PID name spaces of its own reduces a mebibyte with one outside them") {
  if (!may_make_containers()) return;
  for (const std::uint32_t inside_rank : {0u, 1u}) {
    INFO("rank " << inside_rank << " is inside");
    const std::string job = fresh_job();
    const std::uint32_t outside_rank = 1 - inside_rank;
    const auto outside = [=]() -> std::string { return reduce_a_mebibyte(outside_rank, job); };
    CHECK(complaints(run_children({rank_inside(container, inside_rank, job), outside}, 60)) == "");
  }
}

TEST_CASE("two ranks in different mount, IPC and PID name spaces reduce a mebibyte") {
  if (!may_make_containers()) return;
  const std::string job = fresh_job();
  CHECK(complaints(run_children({rank_inside(container, 0, job), rank_inside(container, 1, job)}, 60)) == "");
}

// These run for real, since memory that repeats makes them cheap: 7 s and 100 MiB together.
TEST_CASE("an all-reduce of more than 2^31 bytes sets every byte") {
  CHECK(complaints(run_processes(2, [](Communicator& c) { return move_many_bytes(c, Collective::all_reduce, (std::uint64_t{1} << 31) + 3); })) == "");
}

TEST_CASE("an all-gather of more than 2^31 bytes a rank, 2^32 in all, sets every byte") {
  CHECK(complaints(run_processes(2, [](Communicator& c) { return move_many_bytes(c, Collective::all_gather, (std::uint64_t{1} << 31) + 3); })) == "");
}

// Blocks that begin beyond 2^32 bytes would take too long to move; here the compiled steps are looked at.
TEST_CASE("every algorithm's compiled steps write all of an output whose blocks begin beyond 2^32 bytes") {
  const std::uint32_t ranks = 4;
  const auto machine = load_topology("package:1 core:4 pu:1");
  REQUIRE(machine.has_value());
  const Topology topology = with_ranks(*machine, ranks);
  const CostModel cost = cost_model(topology, ranks);
  std::uint32_t tried = 0;
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather})
    for (const std::string_view algorithm : algorithm_names()) {
      const Request request{collective, ranks, (std::uint64_t{1} << 33) + 3, DataType::u8, ReduceOp::sum, 0, Alias::none};
      const auto plan = make_plan(topology, cost, PlanLimits{}, request, algorithm);
      if (!plan) continue;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        INFO(to_string(collective) << " by " << algorithm << ", rank " << rank);
        CompileRequest compiling{rank, request.count, request.type, request.op, ContextLayout{128, 32, PlanLimits{}.staging_bytes}};
        const auto executable = compile(lower(*plan), compiling);
        REQUIRE(executable.has_value());
        CHECK(coverage(*executable, request.count * block_counts(collective, ranks).output) == "");
        ++tried;
      }
    }
  CHECK(tried >= 4 * ranks);
}

TEST_CASE("an all-gather refuses every input that lies in its output but not in place, and serves those beside it", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::size_t count = 8;
    std::vector<float> memory(4 * count, 1);  // the output is in the middle, with a block before and one behind it
    float* output = memory.data() + count;
    const auto gather = [&](std::ptrdiff_t place) { return communicator.all_gather(output + place, output, count, DataType::f32); };
    const std::ptrdiff_t own = communicator.rank() * std::ptrdiff_t{count};
    for (std::ptrdiff_t place = 1 - std::ptrdiff_t{count}; place < std::ptrdiff_t{2 * count}; ++place)
      if (place != own)
        if (auto wrong = expect_overlap(gather(place), "input at " + std::to_string(place)); !wrong.empty()) return wrong;
    for (const std::ptrdiff_t place : {own, -std::ptrdiff_t{count}, std::ptrdiff_t{2 * count}}) {
      std::fill(memory.begin(), memory.end(), 0.0f);
      std::fill_n(output + place, count, 5.0f);
      if (auto wrong = expect_sum(gather(place), output, 2 * count, 5, "input at " + std::to_string(place)); !wrong.empty()) return wrong;
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a reduce-scatter refuses every output that lies in its input but not in place, and serves those beside it", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::size_t count = 8;
    std::vector<float> memory(4 * count, 1);  // the input is in the middle, with a block before and one behind it
    float* input = memory.data() + count;
    const auto scatter = [&](std::ptrdiff_t place) { return communicator.reduce_scatter(input, input + place, count, DataType::f32); };
    const std::ptrdiff_t own = communicator.rank() * std::ptrdiff_t{count};
    for (std::ptrdiff_t place = 1 - std::ptrdiff_t{count}; place < std::ptrdiff_t{2 * count}; ++place)
      if (place != own)
        if (auto wrong = expect_overlap(scatter(place), "output at " + std::to_string(place)); !wrong.empty()) return wrong;
    for (const std::ptrdiff_t place : {own, -std::ptrdiff_t{count}, std::ptrdiff_t{2 * count}}) {
      std::fill(memory.begin(), memory.end(), 3.0f);
      if (auto wrong = expect_sum(scatter(place), input + place, count, 6, "output at " + std::to_string(place)); !wrong.empty()) return wrong;
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

#include "support/faults.hpp"

#include <sys/mman.h>
#include <unistd.h>

using namespace rondo;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string expect_error(const Result<void>& result, Errc code, const std::vector<std::string>& words) {
  if (result) return "expected " + std::string(to_string(code)) + ", got success";
  const std::string text = to_string(result.error());
  if (result.error().code != code) return "expected " + std::string(to_string(code)) + ", got " + text;
  for (const std::string& word : words)
    if (text.find(word) == std::string::npos) return "'" + word + "' is missing in: " + text;
  return "";
}

std::vector<Disagreement> disagreements() {
  const Call base{Collective::all_reduce, nullptr, nullptr, 16, DataType::f32, ReduceOp::sum, 0, 1};
  Call count = base, type = base, op = base, large = base, large_type = base, collective = base;
  Call tiny_broadcast = base, root = base, barrier = base, small_type = base;
  count.count = 17;
  type.type = DataType::i32;
  op.op = ReduceOp::max;
  large.count = large_type.count = 100'000;
  large_type.type = DataType::i32;
  collective.collective = Collective::all_gather;
  tiny_broadcast.collective = root.collective = Collective::broadcast;
  root.root = 1;
  barrier.collective = Collective::barrier;
  small_type.count = 8;
  small_type.type = DataType::f64;  // the same bytes
  return {{base, count, {"16 f32", "17 f32"}},
          {base, type, {"16 f32", "16 i32"}},
          {base, op, {"(sum)", "(max)"}},
          {base, large, {"16 f32", "100000 f32"}},
          {large, base, {"16 f32", "100000 f32"}},
          {large, large_type, {"100000 f32", "100000 i32"}},
          {base, collective, {"all_reduce", "all_gather"}},
          {base, tiny_broadcast, {"all_reduce", "broadcast"}},
          {tiny_broadcast, base, {"all_reduce", "broadcast"}},
          {large, tiny_broadcast, {"all_reduce", "broadcast"}},
          {tiny_broadcast, root, {"from rank 0", "from rank 1"}},
          {barrier, base, {"barrier", "all_reduce"}},
          {base, small_type, {"16 f32", "8 f64"}}};
}

std::string pair_mismatch(Communicator& communicator, double bound_seconds) {
  std::vector<float> values(100, 1);
  const auto begin = Clock::now();
  Result<void> result;
  if (communicator.rank() == 0) result = communicator.send(values.data(), 100, DataType::f32, 1);
  if (communicator.rank() == 1) result = communicator.recv(values.data(), 99, DataType::f32, 0);
  if (result) result = communicator.barrier();
  if (const double took = seconds_since(begin); took > bound_seconds) return "took " + std::to_string(took) + " s";
  return expect_error(result, Errc::mismatch, {"rank 1 called send_recv of 99 f32", "rank 0 called send_recv of 100 f32"});
}

std::string mismatch(Communicator& communicator, const Disagreement& calls, double bound_seconds) {
  std::vector<char> input(1 << 20), output(1 << 20);
  Call mine = communicator.rank() == 0 ? calls.first : calls.others;
  mine.input = input.data();
  mine.output = output.data();
  const auto begin = Clock::now();
  Result<void> result = communicator.run(mine);
  // a rank that needed nobody in this call finds out in its next one
  if (result) result = communicator.run(mine);
  if (result) result = communicator.barrier();
  if (const double took = seconds_since(begin); took > bound_seconds) return "took " + std::to_string(took) + " s";
  return expect_error(result, Errc::mismatch, calls.words);
}

std::string said_during(const std::function<void()>& body) {
  const int memory = memfd_create("said", MFD_CLOEXEC), before = dup(STDERR_FILENO);
  dup2(memory, STDERR_FILENO);
  body();
  dup2(before, STDERR_FILENO);
  close(before);
  std::string said(static_cast<std::size_t>(lseek(memory, 0, SEEK_END)), '\0');
  const ssize_t got = pread(memory, said.data(), said.size(), 0);
  close(memory);
  said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return said;
}

Result<void> around_the_ring(Communicator& communicator, const float* input, float* output, std::uint64_t count) {
  const std::uint32_t ranks = communicator.size();
  communicator.group_begin();
  (void)communicator.send(input, count, DataType::f32, (communicator.rank() + 1) % ranks);
  (void)communicator.recv(output, count, DataType::f32, (communicator.rank() + ranks - 1) % ranks);
  return communicator.group_end();
}

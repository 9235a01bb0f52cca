// Communicators that check what passes between ranks: what changes on the way is an error of the call in which it does.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/own_segment.hpp"
#include "support/ranks.hpp"
#include "support/shared.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t sent_count = 3000;

CommunicatorOptions checked() {
  CommunicatorOptions options;
  options.integrity = true;
  options.timeout = std::chrono::seconds(20);
  return options;
}

/// Flips a bit of the first place in this process's segment that holds `bytes` as they are; false: none does.
bool flip_in_slot(const void* bytes, std::size_t length, std::size_t bit) {
  const int segment = own_segment();
  std::vector<std::byte> content;
  for (off_t begin = lseek(segment, 0, SEEK_DATA); begin >= 0; begin = lseek(segment, begin, SEEK_DATA)) {
    const off_t end = lseek(segment, begin, SEEK_HOLE);
    content.resize(static_cast<std::size_t>(end - begin));
    if (pread(segment, content.data(), content.size(), begin) != end - begin) return false;
    const auto* first = static_cast<const std::byte*>(bytes);
    const auto found = std::search(content.begin(), content.end(), first, first + length);
    if (found != content.end()) {
      const std::byte flipped = found[static_cast<std::ptrdiff_t>(bit / 8)] ^ std::byte{1} << static_cast<int>(bit % 8);
      return pwrite(segment, &flipped, 1, begin + (found - content.begin()) + static_cast<off_t>(bit / 8)) == 1;
    }
    begin = end;
  }
  return false;
}

/// What a rank does that sends `data` to the other one, and what is said of it.
struct Sending {
  const char* name;
  Work (*start)(Communicator&, const float* data, float* output);
};

Work start_call(Communicator& communicator, Collective collective, const float* data, float* output) {
  return communicator.start(Call{collective, data, output, sent_count, DataType::f32, ReduceOp::sum, 0});
}

constexpr Sending sendings[] = {
    {"broadcast of 3000 f32 from rank 0", [](Communicator& c, const float* data, float* output) { return start_call(c, Collective::broadcast, data, output); }},
    {"all_reduce of 3000 f32 (sum)", [](Communicator& c, const float* data, float* output) { return start_call(c, Collective::all_reduce, data, output); }},
    {"all_gather of 3000 f32", [](Communicator& c, const float* data, float* output) { return start_call(c, Collective::all_gather, data, output); }},
    {"scatter of 3000 f32 from rank 0", [](Communicator& c, const float* data, float* output) { return start_call(c, Collective::scatter, data, output); }},
    {"send_recv of 3000 f32",
     [](Communicator& c, const float* data, float* output) {
       return c.rank() == 0 ? c.start_send(data, sent_count, DataType::f32, 1) : c.start_recv(output, sent_count, DataType::f32, 0);
     }},
    {"all_to_all_v",
     [](Communicator& c, const float* data, float* output) {
       const std::uint64_t counts[] = {sent_count, sent_count};
       return c.start_all_to_all_v(data, Blocks{counts}, output, Blocks{counts}, DataType::f32);
     }},
};

/// Rank 0 sends, and spoils what it has sent before the other one looks; both can make a new communicator then.
std::string spoil(Communicator& communicator, const Sending& sending, std::size_t bit, std::atomic<bool>& spoilt, const std::string& next_job) {
  std::vector<float> data(2 * sent_count), output(2 * sent_count);
  std::iota(data.begin(), data.end(), static_cast<float>(communicator.rank() * 10'000));
  Result<void> result;
  if (communicator.rank() == 0) {
    Work work = sending.start(communicator, data.data(), output.data());
    const auto begin = Clock::now();
    const std::string name = sending.name;
    const float* sent = data.data() + (name.starts_with("scatter") || name.starts_with("all_to_all") ? sent_count : 0);
    // one_shot's slots hold all, two_shot's the other rank's half
    while (!flip_in_slot(sent, sent_count / 2 * 4, bit) && !flip_in_slot(sent + sent_count / 2 + 8, sent_count / 2 * 4 - 32, bit))
      if (seconds_since(begin) > 10) return "what it sent is in no slot";
    spoilt = true;
    (void)work.wait();
    result = communicator.barrier();
  } else {
    while (!spoilt) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    result = sending.start(communicator, data.data(), output.data()).wait();
  }
  const std::vector<std::string> words{"what rank 0 (process ", " wrote for rank 1 changed on the way: piece 0 of chunk ", " in the slots of rank 0",
                                       sending.name};
  std::string wrong = expect_error(result, communicator.rank() == 0 ? Errc::peer_failed : Errc::corrupted, words);
  if (communicator.rank() == 0 && wrong.empty()) wrong = expect_error(result, Errc::peer_failed, {"rank 1 (process ", " failed: "});
  if (!wrong.empty()) return wrong;
  auto next = Communicator::local(communicator.rank(), 2, next_job, checked());
  if (!next) return to_string(next.error());
  float sum = 1;
  if (auto done = next->all_reduce(&sum, &sum, 1, DataType::f32); !done) return to_string(done.error());
  return sum == 2 ? "" : "a wrong sum";
}

}  // namespace

TEST_CASE("a bit flipped in a slot is caught in the same operation, with the ranks and the chunk, and a new communicator works") {
  for (const Sending& sending : sendings)
    for (const std::size_t bit : {0, 31, 4097, 40'000}) {
      INFO(sending.name << ", bit " << bit);
      const Shared<std::atomic<bool>> spoilt;
      const std::string job = fresh_job();
      const auto body = [&](Communicator& c) { return spoil(c, sending, bit, *spoilt, job); };
      CHECK(complaints(run_processes(2, body, checked(), 60)) == "");
    }
}

TEST_CASE("with checksums every collective, type, operation, odd count and place is right", "[threads]") {
  SECTION("as threads") { CHECK(complaints(run_threads(3, [](Communicator& c) { return perform_all(c, false); }, checked())) == ""); }
  SECTION("as processes") {
    for (const bool symmetric : {false, true})
      CHECK(complaints(run_processes(2, [&](Communicator& c) { return perform_all(c, symmetric); }, checked())) == "");
  }
}

TEST_CASE("integrity that not all ranks ask for is refused") {
  const std::string job = fresh_job();
  std::vector<std::string> said(2);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      CommunicatorOptions options;
      options.integrity = rank == 1;
      const auto made = Communicator::local(rank, 2, job, options);
      said[rank] = made ? "it was made" : expect_error(made.error(), Errc::mismatch, {"integrity is asked for by rank 1 and not by rank 0"});
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(complaints(said) == "");
}

// A peer that scribbles into its segment: errors, wrong numbers perhaps, but no crash and no hang.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/own_segment.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

/// Where it scribbles, in words from the segment's beginning: the status line; this and the records; all control words of the collectives; anything.
constexpr std::array<std::uint64_t, 4> regions{8, 64, 8192, 1u << 19};

/// Writes what nobody should into the segment, for as long as it lives.
class Scribbler {
 public:
  Scribbler(int segment, std::uint64_t seed) : segment_(segment), random_(seed), thread_([this] { scribble(); }) {}
  Scribbler(const Scribbler&) = delete;
  Scribbler& operator=(const Scribbler&) = delete;
  ~Scribbler() {
    over_ = true;
    thread_.join();
  }

 private:
  void scribble() {
    const std::uint64_t style = random_() % 4, region = regions[random_() % regions.size()];
    while (!over_) {
      const std::uint64_t word = random_() % region;
      const auto offset = static_cast<off_t>(word * 8);
      if (style == 3 && random_() % 4096 == 0) (void)fallocate(segment_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset / 4096 * 4096, 4096);
      if (style == 2 && region > 64) {
        std::array<std::uint64_t, 64> many;
        for (std::uint64_t& value : many) value = random_();
        (void)!pwrite(segment_, many.data(), sizeof many, offset);
      } else {
        const std::uint64_t value = any_value();
        (void)!pwrite(segment_, &value, sizeof value, offset);
      }
      if (style == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
    }
  }

  /// Anything, or what a word could hold.
  std::uint64_t any_value() {
    switch (random_() % 6) {
      case 0: return random_() % 4;
      case 1: return ~std::uint64_t{0} - random_() % 16;
      case 2: return (random_() % 64) << 24 | random_() % 64;
      case 3: return (random_() % 64) << 32 | (random_() & 0xffffffff);
      case 5: return (random_() % 16) << 32 | (random_() & 0xffffffff);
      default: return random_();
    }
  }

  int segment_;
  std::mt19937_64 random_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Calls of all kinds, the same on every rank. What they compute doesn't matter.
class Calls {
 public:
  Calls(Communicator& communicator, std::uint64_t seed) : communicator_(communicator), random_(seed), input_(largest, 1), output_(largest) {
    if (auto allocated = communicator.allocate(largest * sizeof(float))) symmetric_ = *allocated;
  }

  Result<void> next() {
    const std::uint64_t sizes[] = {1, 2, 400, 30'000, 300'000};
    const std::uint64_t count = sizes[random_() % 5];
    const auto root = static_cast<std::uint32_t>(random_() % communicator_.size());
    switch (random_() % 10) {
      case 0: return communicator_.barrier();
      case 1: return communicator_.broadcast(input_.data(), output_.data(), count, DataType::f32, root);
      case 2: return communicator_.all_gather(input_.data(), output_.data(), count, DataType::f32);
      case 3: return blocks();
      case 4: return around_the_ring(communicator_, input_.data(), output_.data(), count);
      case 5: return communicator_.reduce_scatter(input_.data(), output_.data(), count, DataType::f32);
      case 6: return communicator_.start(Call{Collective::all_reduce, input_.data(), output_.data(), count, DataType::f32, ReduceOp::max}).wait();
      case 7: return from_anybody(count);
      case 8: return communicator_.all_reduce(symmetric_.get(), symmetric_.get(), count, DataType::f32, ReduceOp::max);
      default: return communicator_.all_reduce(input_.data(), output_.data(), count, DataType::f32);
    }
  }

 private:
  static constexpr std::uint64_t largest = 1'000'000;

  Result<void> blocks() {
    const std::vector<std::uint64_t> counts(communicator_.size(), 1 + random_() % 100'000);
    return communicator_.all_to_all_v(input_.data(), Blocks{counts}, output_.data(), Blocks{counts}, DataType::f32);
  }

  /// Each has a message from its neighbour, without asking for whose it is.
  Result<void> from_anybody(std::uint64_t count) {
    Work sent = communicator_.start_send(input_.data(), count, DataType::f32, (communicator_.rank() + 1) % communicator_.size());
    const auto from = communicator_.recv_any(output_.data(), count, DataType::f32);
    const auto sending = sent.wait();
    return from ? sending : Result<void>(from.error());
  }

  Communicator& communicator_;
  std::mt19937_64 random_;
  std::vector<float> input_, output_;
  std::shared_ptr<void> symmetric_;
};

}  // namespace

TEST_CASE("a peer that scribbles into its segment makes errors and wrong numbers, but crashes nobody and holds nobody up") {
  std::mt19937 random(20'263);
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(2);
  for (int round = 0; round < (sanitized ? 8 : 20); ++round) {
    const std::uint64_t seed = random();
    const auto begin_after = std::chrono::microseconds(random() % 4000);
    const auto body = [&](Communicator& communicator) -> std::string {
      Calls calls(communicator, seed);
      std::unique_ptr<Scribbler> scribbler;
      const auto begin = Clock::now();
      Result<void> result;
      while (result && Clock::now() - begin < std::chrono::milliseconds(500)) {
        if (communicator.rank() == 1 && !scribbler && Clock::now() - begin > begin_after) scribbler = std::make_unique<Scribbler>(own_segment(), seed);
        result = calls.next();
      }
      if (scribbler) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return "";
    };
    const auto answers = run_processes(3, body, options, 30);
    INFO("round " << round << ", seed " << seed);
    CHECK(answers[0] == "");
    CHECK(answers[2] == "");
  }
}

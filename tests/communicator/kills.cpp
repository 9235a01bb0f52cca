// kill -9 at random moments, whatever the ranks are doing then.
#include <chrono>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

/// What survivors were doing: every rank makes the same calls in the same order.
class Load {
 public:
  Load(Communicator& communicator, std::uint64_t seed) : communicator_(communicator), random_(seed), input_(largest, 1), output_(largest) {}

  /// One call, or a few that belong together. What is right is checked where a call succeeds.
  Result<void> step() {
    const std::uint64_t sizes[] = {1, 2, 400, 30'000, largest};
    const std::uint64_t count = sizes[random_() % 5];
    switch (random_() % 6) {
      case 0: return communicator_.barrier();
      case 1: return communicator_.broadcast(input_.data(), output_.data(), count, DataType::f32, static_cast<std::uint32_t>(random_() % communicator_.size()));
      case 2: return around_the_ring(communicator_, input_.data(), output_.data(), count);
      case 3: return started(count);
      default: return checked(communicator_.all_reduce(input_.data(), output_.data(), count, DataType::f32), count);
    }
  }

 private:
  static constexpr std::uint64_t largest = 600'000;

  Result<void> checked(Result<void> result, std::uint64_t count) const {
    const auto sum = static_cast<float>(communicator_.size());
    if (result && (output_[0] != sum || output_[count / 2] != sum || output_[count - 1] != sum)) return Error{Errc::io, "a wrong sum was returned as right"};
    return result;
  }

  Result<void> started(std::uint64_t count) {
    std::vector<float> other(7, 2);
    Work first = communicator_.start(Call{Collective::all_reduce, input_.data(), output_.data(), count, DataType::f32, ReduceOp::sum});
    Work second = communicator_.start(Call{Collective::all_reduce, other.data(), other.data(), other.size(), DataType::f32, ReduceOp::max});
    const auto last = second.wait();
    const auto result = checked(first.wait(), count);
    return result ? last : result;
  }

  Communicator& communicator_;
  std::mt19937_64 random_;
  std::vector<float> input_, output_;
};

}  // namespace

TEST_CASE("kill -9 at random moments under load gives every survivor an error that names the rank within a second of the death") {
  std::mt19937 random(20'260);
  constexpr int rounds = sanitized ? 40 : 200;
  for (int round = 0; round < rounds; ++round) {
    const auto ranks = static_cast<std::uint32_t>(2 + random() % 3);
    const auto delay = std::chrono::microseconds(random() % 8000);
    const std::uint64_t seed = random();
    const Death death;
    const auto body = [&](Communicator& communicator) -> std::string {
      std::thread killer;
      if (communicator.rank() == ranks - 1) killer = std::thread([&] {
        std::this_thread::sleep_for(delay);
        death.come();
      });
      Load load(communicator, seed);
      Result<void> result;
      while (result) result = load.step();
      const std::int64_t passed_ns = death.passed_ns();
      if (killer.joinable()) killer.join();
      if (auto wrong = expect_error(result, Errc::peer_failed, {"rank " + std::to_string(ranks - 1) + " ", "died"}); !wrong.empty()) return wrong;
      return passed_ns < death_bound_ns ? "" : "took " + std::to_string(passed_ns / 1'000'000) + " ms";
    };
    auto answers = run_processes(ranks, body, {}, 30);
    INFO("round " << round << ", " << ranks << " ranks");
    REQUIRE(answers.back() == "ended by signal 9");
    answers.pop_back();
    REQUIRE(complaints(answers) == "");
  }
}

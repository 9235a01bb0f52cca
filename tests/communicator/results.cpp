// Every collective gives the right result, whatever the type, operation, number of ranks, count and place.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t long_counts[] = {100'003, sanitized ? 300'007 : 1'500'007};
constexpr std::uint32_t thread_calls = sanitized ? 500 : 1000;
constexpr std::uint32_t process_calls = sanitized ? 500 : 5000;

/// Mixes collectives, sizes, roots and types at random: what finds faults in the reuse of slots.
std::string soak(Communicator& communicator, std::uint32_t calls, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint32_t i = 0; i < calls; ++i) {
    const std::size_t which = random() % (std::size(moving_collectives) + 1);
    Trial trial{};
    trial.shape.collective = which < std::size(moving_collectives) ? moving_collectives[which] : Collective::barrier;
    trial.shape.type = static_cast<DataType>(random() % data_type_count);
    trial.shape.op = random() % 2 == 0 ? ReduceOp::sum : ReduceOp::max;
    trial.shape.root = static_cast<std::uint32_t>(random() % communicator.size());
    const std::uint64_t sizes[] = {random() % 4, random() % 64, random() % 2048, random() % 2048, random() % 40'000, i % 64 == 0 ? random() % 400'000 : 7};
    trial.shape.count = sizes[random() % 6];
    trial.in_place = random() % 2 == 0;
    trial.seed = random();
    trial.apart = random() % 4 == 0;
    if (trial.shape.collective == Collective::barrier) {
      if (auto done = communicator.barrier(); !done) return to_string(done.error());
      continue;
    }
    if (const std::string wrong = perform(communicator, trial); !wrong.empty()) return "call " + std::to_string(i) + ", " + wrong;
  }
  return "";
}

}  // namespace

TEST_CASE("threads as ranks get right results for every collective, type, operation, odd count and place", "[threads]") {
  for (const std::uint32_t ranks : numbers_of_ranks) {
    INFO(ranks << " ranks");
    CHECK(complaints(run_threads(ranks, [](Communicator& c) { return perform_all(c, false); })) == "");
  }
}

TEST_CASE("processes as ranks get right results for every collective, type, operation, odd count and place") {
  for (const std::uint32_t ranks : numbers_of_ranks) {
    INFO(ranks << " ranks");
    CHECK(complaints(run_processes(ranks, [](Communicator& c) { return perform_all(c, false); })) == "");
  }
}

TEST_CASE("messages of many pieces are right") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::uint64_t seed = 99;
    for (const Collective collective : moving_collectives)
      for (const std::uint64_t count : long_counts)
        for (const bool in_place : {false, true}) {
          const std::string wrong = perform(
              communicator, Trial{Shape{collective, DataType::f32, ReduceOp::sum, 0, 0, communicator.size() - 1, count},
                                  in_place, ++seed});
          if (!wrong.empty()) return wrong;
        }
    return "";
  };
  for (const std::uint32_t ranks : {2u, 3u, 4u, 8u}) {
    INFO(ranks << " ranks");
    CHECK(complaints(run_processes(ranks, body)) == "");
  }
}

TEST_CASE("random mixes of collectives, sizes, roots and types stay right over thousands of calls", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 8u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_threads(ranks, [](Communicator& c) { return soak(c, thread_calls, 815); })) == "");
    }
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 8u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_processes(ranks, [](Communicator& c) { return soak(c, process_calls, 4711); })) == "");
    }
  }
}

TEST_CASE("integers are not multiplied by factors that no integer is, and the communicator stays usable", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    const auto multiply = [&](DataType type, void* value, double factor) {
      return communicator.run(Call{Collective::all_reduce, value, value, 1, type, ReduceOp::premul_sum, 0, factor});
    };
    std::int32_t number = 1;
    float real = 1;
    for (int round = 0; round < 3; ++round) {
      for (const double factor : {1e30, -1e30, std::nan(""), std::numeric_limits<double>::infinity()})
        if (auto wrong = expect_error(multiply(DataType::i32, &number, factor), Errc::invalid_argument, {"premul_sum of i32", "-2^63"}); !wrong.empty())
          return wrong;
      if (auto done = multiply(DataType::i32, &number, 3.7); !done || number != 6) return "a factor of 3.7 isn't 3";
      number = 1;
      if (auto done = multiply(DataType::f32, &real, 1e30); !done || real < 1e30f) return "a real number isn't multiplied by 1e30";
      real = 1;
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("premul_sum multiplies each rank's input by that rank's own factor", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (const std::uint64_t count : {3u, 1000u, 300'000u}) {
      std::vector<float> values(count);
      for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 100);
      Call call{Collective::all_reduce, values.data(), values.data(), count, DataType::f32, ReduceOp::premul_sum, 0, communicator.rank() + 1.0};
      if (auto done = communicator.run(call); !done) return to_string(done.error());
      const auto ranks = static_cast<float>(communicator.size());
      for (std::uint64_t i = 0; i < count; ++i)
        if (values[i] != static_cast<float>(i % 100) * ranks * (ranks + 1) / 2)
          return "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
    }
    return "";
  };
  for (const std::uint32_t ranks : {1u, 2u, 3u, 8u}) CHECK(complaints(run_threads(ranks, body)) == "");
}

TEST_CASE("every rank ends an all-reduce with the same bits", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (const std::uint64_t count : {2u, 700u, 50'000u, 900'000u}) {
      Shape shape{Collective::all_reduce, DataType::f32, ReduceOp::sum, communicator.size(), communicator.rank(), 0, count};
      std::vector<float> values(count), all(count * communicator.size());
      fill_input(shape, count, values.data());
      if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32); !done) return to_string(done.error());
      if (auto done = communicator.all_gather(values.data(), all.data(), count, DataType::f32); !done) return to_string(done.error());
      for (std::uint32_t rank = 0; rank < communicator.size(); ++rank)
        if (std::memcmp(values.data(), all.data() + rank * count, count * sizeof(float)) != 0)
          return "rank " + std::to_string(rank) + " has other bits at count " + std::to_string(count);
    }
    return "";
  };
  for (const std::uint32_t ranks : {2u, 3u, 5u, 8u}) CHECK(complaints(run_threads(ranks, body)) == "");
}

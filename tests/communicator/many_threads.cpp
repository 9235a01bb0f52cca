// Several threads use one communicator: none of their waits keeps another from going on, and their calls don't mix.
#include <atomic>
#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;
using namespace std::chrono_literals;

CommunicatorOptions impatient() {
  CommunicatorOptions options;
  options.timeout = 5s;  // a deadlock ends as an error
  return options;
}

std::string said(const Result<void>& result) { return result ? "" : to_string(result.error()); }

std::string reduce_once(Communicator& communicator) {
  float value = 1;
  if (auto done = communicator.all_reduce(&value, &value, 1, DataType::f32); !done) return said(done);
  return value == static_cast<float>(communicator.size()) ? "" : "wrong sum";
}

}  // namespace

TEST_CASE("a thread that waits in a collective keeps no other from sending", "[threads]") {
  auto ranks = Communicator::in_process(2, impatient());
  REQUIRE(ranks.has_value());
  std::string reduced, sent, other;
  std::atomic<bool> waits{false};
  // rank 1 goes into the collective only after the message that rank 0's second thread sends during it
  std::thread collective([&] {
    waits = true;
    reduced = reduce_once((*ranks)[0]);
  });
  std::thread sender([&] {
    while (!waits) std::this_thread::yield();
    std::this_thread::sleep_for(50ms);
    const std::uint32_t message = 7;
    sent = said((*ranks)[0].send(&message, 1, DataType::u32, 1));
  });
  std::thread receiver([&] {
    std::uint32_t message = 0;
    other = said((*ranks)[1].recv(&message, 1, DataType::u32, 0));
    if (other.empty() && message != 7) other = "wrong message";
    if (other.empty()) other = reduce_once((*ranks)[1]);
  });
  collective.join();
  sender.join();
  receiver.join();
  CHECK(reduced == "");
  CHECK(sent == "");
  CHECK(other == "");
}

TEST_CASE("the flight record is there while a call hangs", "[threads]") {
  auto ranks = Communicator::in_process(2, impatient());
  REQUIRE(ranks.has_value());
  std::string reduced, other;
  std::thread early([&] { reduced = reduce_once((*ranks)[0]); });
  std::string record;
  const auto begin = std::chrono::steady_clock::now();
  while (record.find("running") == std::string::npos && std::chrono::steady_clock::now() - begin < 3s) record = (*ranks)[0].flight_record();
  CHECK(record.find("all_reduce") != std::string::npos);
  CHECK(record.find("running") != std::string::npos);
  std::thread late([&] { other = reduce_once((*ranks)[1]); });
  early.join();
  late.join();
  CHECK(reduced == "");
  CHECK(other == "");
}

TEST_CASE("calls of several threads on one communicator run one after another, started ones among them", "[threads]") {
  constexpr int rounds = 150;
  constexpr std::size_t count = 20'000;
  auto ranks = Communicator::in_process(2, impatient());
  REQUIRE(ranks.has_value());
  // All calls of a kind are alike, so that their order among the threads of a rank doesn't matter.
  const auto calls = [&](Communicator& communicator, bool starts) -> std::string {
    std::vector<float> values(count);
    for (int round = 0; round < rounds; ++round) {
      std::fill(values.begin(), values.end(), 1.0f);
      auto done = starts ? communicator.start(Call{Collective::all_reduce, values.data(), values.data(), count}).wait()
                         : communicator.all_reduce(values.data(), values.data(), count, DataType::f32);
      if (!done) return said(done);
      for (const float value : values)
        if (value != 2) return "wrong sum in round " + std::to_string(round);
    }
    return "";
  };
  const auto messages = [&](Communicator& communicator) -> std::string {
    std::vector<std::uint32_t> data(count, 3);
    for (int round = 0; round < rounds; ++round) {
      auto done = communicator.rank() == 0 ? communicator.send(data.data(), count, DataType::u32, 1) : communicator.recv(data.data(), count, DataType::u32, 0);
      if (!done) return said(done);
    }
    return "";
  };
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] { results[rank * 4] = calls((*ranks)[rank], false); });
    threads.emplace_back([&, rank] { results[rank * 4 + 1] = calls((*ranks)[rank], false); });
    threads.emplace_back([&, rank] { results[rank * 4 + 2] = calls((*ranks)[rank], true); });
    threads.emplace_back([&, rank] { results[rank * 4 + 3] = messages((*ranks)[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) CHECK(result == "");
}

// Receives from whichever rank sends first.
#include <algorithm>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;
using namespace std::chrono_literals;

std::vector<std::uint32_t> message(std::uint32_t sender, std::uint32_t number, std::uint64_t count) {
  std::vector<std::uint32_t> values(count, sender * 1000 + number);
  if (count > 0) values.back() = number;
  return values;
}

/// Everybody but rank 0 sends it messages of one size; rank 0 takes them as they come: each sender's in order, none lost.
std::string server(Communicator& communicator, std::uint64_t count, std::uint32_t rounds, bool started) {
  if (communicator.rank() != 0) {
    for (std::uint32_t number = 0; number < rounds; ++number) {
      const auto out = message(communicator.rank(), number, count);
      if (auto done = communicator.send(out.data(), count, DataType::u32, 0); !done) return to_string(done.error());
    }
    return "";
  }
  std::vector<std::uint32_t> next(communicator.size(), 0);
  const std::uint32_t total = rounds * (communicator.size() - 1);
  std::vector<std::vector<std::uint32_t>> in(total, std::vector<std::uint32_t>(count, 77));
  std::vector<Work> works;
  for (std::uint32_t i = 0; started && i < total; ++i) works.push_back(communicator.start_recv_any(in[i].data(), count, DataType::u32));
  for (std::uint32_t i = 0; i < total; ++i) {
    std::optional<std::uint32_t> from;
    if (started) {
      if (auto done = works[i].wait(); !done) return to_string(done.error());
      from = works[i].source();
    } else {
      auto taken = communicator.recv_any(in[i].data(), count, DataType::u32);
      if (!taken) return to_string(taken.error());
      from = *taken;
    }
    if (!from || *from == 0 || *from >= communicator.size()) return "no source";
    if (in[i] != message(*from, next[*from], count)) return "message " + std::to_string(i) + " isn't the next one of rank " + std::to_string(*from);
    ++next[*from];
  }
  return "";
}

std::string servers(Communicator& communicator) {
  for (const std::uint64_t count : {0u, 1u, 300u, 100'000u})
    for (const bool started : {false, true}) {
      if (auto wrong = server(communicator, count, count > 1000 ? 6 : 40, started); !wrong.empty()) return wrong + ", count " + std::to_string(count);
      float one = 1;  // collectives go on in between
      if (auto done = communicator.all_reduce(&one, &one, 1, DataType::f32); !done) return to_string(done.error());
      if (one != static_cast<float>(communicator.size())) return "a wrong sum";
    }
  return "";
}

/// Receives that name their rank and those that don't, from the same senders, `delay` after those began.
std::string mixed_sources(Communicator& communicator, std::chrono::milliseconds delay) {
  std::uint32_t value = communicator.rank() * 10, first = 0, second = 0, third = 0;
  if (communicator.rank() == 1) {
    const auto sent = communicator.send(&value, 1, DataType::u32, 0);
    value = 11;
    const auto again = communicator.send(&value, 1, DataType::u32, 0);
    return sent && again ? "" : "a send failed";
  }
  if (communicator.rank() == 2) {
    auto sent = communicator.send(&value, 1, DataType::u32, 0);
    return sent ? "" : to_string(sent.error());
  }
  std::this_thread::sleep_for(delay);
  Work named = communicator.start_recv(&first, 1, DataType::u32, 1);
  communicator.group_begin();
  Work any = communicator.start_recv_any(&second, 1, DataType::u32);
  Work other = communicator.start_recv_any(&third, 1, DataType::u32);
  if (auto done = communicator.group_end(); !done) return to_string(done.error());
  if (auto done = named.wait(); !done) return to_string(done.error());
  if (first != 10 || named.source() != 1u) return "the receive that names its rank got another message";
  const std::uint32_t low = std::min(second, third), high = std::max(second, third);
  if (low != 11 || high != 20) return "the others got " + std::to_string(low) + " and " + std::to_string(high);
  if (any.source() != (second == 11 ? 1u : 2u) || other.source() != (third == 11 ? 1u : 2u)) return "a wrong source";
  return "";
}

}  // namespace

TEST_CASE("recv_any takes messages of all ranks as they come, each rank's in order", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {2u, 3u, 6u}) CHECK(complaints(run_threads(ranks, servers)) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u, 6u}) CHECK(complaints(run_processes(ranks, servers)) == "");
  }
  SECTION("over UCX, as processes") {
    CommunicatorOptions options;
    options.transport = "ucx";
    const auto said = run_processes(3, servers, options);
    if (said.front().find("built without UCX") != std::string::npos) return;
    CHECK(complaints(said) == "");
  }
}

TEST_CASE("receives that name their rank get its messages before those that don't", "[threads]") {
  // the longer delay lets the senders leave before their messages are looked for
  const auto delayed = [](std::chrono::milliseconds delay) { return [delay](Communicator& communicator) { return mixed_sources(communicator, delay); }; };
  SECTION("as threads") {
    for (const auto delay : {0ms, 200ms}) CHECK(complaints(run_threads(3, delayed(delay))) == "");
  }
  SECTION("as processes") {
    for (const auto delay : {0ms, 200ms}) CHECK(complaints(run_processes(3, delayed(delay))) == "");
  }
}

TEST_CASE("what is wrong with a receive from any rank is said", "[threads]") {
  const auto alone = [](Communicator& communicator) -> std::string {
    std::uint32_t value = 0;
    const auto taken = communicator.recv_any(&value, 1, DataType::u32);
    return expect_error(taken ? Result<void>() : Result<void>(taken.error()), Errc::invalid_argument, {"no other rank"});
  };
  CHECK(complaints(run_threads(1, alone)) == "");
  const auto grouped = [](Communicator& communicator) -> std::string {
    std::uint32_t value = 0;
    communicator.group_begin();
    const auto taken = communicator.recv_any(&value, 1, DataType::u32);
    if (auto ended = communicator.group_end(); !ended) return to_string(ended.error());
    return expect_error(taken ? Result<void>() : Result<void>(taken.error()), Errc::invalid_argument, {"start_recv_any"});
  };
  CHECK(complaints(run_threads(2, grouped)) == "");
}

TEST_CASE("a receive from any rank ends with an error when nobody can send: a death, an abort, all others gone, the deadline") {
  const Death death;
  const auto receive = [](Communicator& communicator) {
    std::uint32_t value = 0;
    const auto taken = communicator.recv_any(&value, 1, DataType::u32);
    return taken ? Result<void>() : Result<void>(taken.error());
  };
  const auto after_death = [&](Communicator& communicator) -> std::string {
    if (communicator.rank() == 2) death.come();
    const auto ended = receive(communicator);
    if (auto wrong = expect_error(ended, Errc::peer_failed, {"rank 2 (process"}); !wrong.empty()) return wrong;
    return death.passed_ns() < 1'000'000'000 ? "" : "took too long";
  };
  const auto said = run_processes(3, after_death);
  CHECK(said[0] == "");
  CHECK(said[1] == "");
  const auto after_abort = [&](Communicator& communicator) -> std::string {
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      communicator.abort();
    }
    return expect_error(receive(communicator), Errc::aborted, {"abort()"});
  };
  CHECK(complaints(run_processes(2, after_abort)) == "");
  const auto after_leaving = [&](Communicator& communicator) -> std::string {
    std::uint32_t value = 5;
    if (communicator.rank() != 0) return communicator.send(&value, 1, DataType::u32, 0) ? "" : "a send failed";
    for (std::uint32_t i = 1; i < communicator.size(); ++i)
      if (auto done = receive(communicator); !done) return "its message was lost: " + to_string(done.error());
    return expect_error(receive(communicator), Errc::peer_failed, {"all other ranks left"});
  };
  CHECK(complaints(run_processes(3, after_leaving)) == "");
  const auto too_late = [&](Communicator& communicator) -> std::string {
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      return "";
    }
    return expect_error(receive(communicator), Errc::deadline_exceeded, {"recv_any of 1 u32", "no rank has sent"});
  };
  CommunicatorOptions hurried;
  hurried.timeout = std::chrono::milliseconds(300);
  CHECK(complaints(run_processes(2, too_late, hurried)) == "");
}

// Works, groups, point to point.
#include <chrono>
#include <numeric>
#include <thread>

#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

std::string check_sum(const std::vector<float>& values, float expected) {
  for (const float value : values)
    if (value != expected) return "got " + std::to_string(value) + ", expected " + std::to_string(expected);
  return "";
}

}  // namespace

TEST_CASE("started calls run in order and end without anyone waiting", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<std::vector<float>> buffers(20, std::vector<float>(5000, static_cast<float>(communicator.rank() + 1)));
    std::vector<Work> works;
    for (auto& buffer : buffers)
      works.push_back(communicator.start(
          Call{Collective::all_reduce, buffer.data(), buffer.data(), buffer.size(), DataType::f32, ReduceOp::sum}));
    while (!works.back().done()) std::this_thread::yield();
    const float ranks = static_cast<float>(communicator.size());
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (!works[i].done()) return "work " + std::to_string(i) + " is not done, though a later one is";
      if (auto waited = works[i].wait(); !waited) return to_string(waited.error());
      if (auto wrong = check_sum(buffers[i], ranks * (ranks + 1) / 2); !wrong.empty()) return wrong;
    }
    return "";
  };
  SECTION("as threads") {
    for (const std::uint32_t ranks : {1u, 2u, 4u}) CHECK(complaints(run_threads(ranks, body)) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {1u, 2u, 4u}) CHECK(complaints(run_processes(ranks, body)) == "");
  }
}

TEST_CASE("a synchronous call comes after the started ones before it", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    for (int round = 0; round < 200; ++round) {
      std::vector<float> first(300, 1), second(7, 2);
      Work work = communicator.start(Call{Collective::all_reduce, first.data(), first.data(), first.size(), DataType::f32, ReduceOp::sum});
      if (auto done = communicator.all_reduce(second.data(), second.data(), second.size(), DataType::f32); !done) return to_string(done.error());
      if (!work.done()) return "the started call is still running";
      if (auto wrong = check_sum(first, static_cast<float>(communicator.size())); !wrong.empty()) return wrong;
      if (auto wrong = check_sum(second, 2 * static_cast<float>(communicator.size())); !wrong.empty()) return wrong;
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(4, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("messages around a ring arrive as they were sent, between collectives too", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    const std::uint32_t next = (communicator.rank() + 1) % communicator.size();
    const std::uint32_t previous = (communicator.rank() + communicator.size() - 1) % communicator.size();
    for (const std::uint64_t count : {1u, 10u, 300u, 100'000u}) {
      std::vector<std::int32_t> out(count), in(count, -1);
      for (int message = 0; message < 5; ++message) {
        std::iota(out.begin(), out.end(), static_cast<std::int32_t>(communicator.rank() * 1000 + static_cast<std::uint32_t>(message)));
        communicator.group_begin();
        (void)communicator.send(out.data(), count, DataType::i32, next);
        (void)communicator.recv(in.data(), count, DataType::i32, previous);
        if (auto done = communicator.group_end(); !done) return to_string(done.error());
        for (std::uint64_t i = 0; i < count; ++i)
          if (in[i] != static_cast<std::int32_t>(previous * 1000 + static_cast<std::uint32_t>(message) + i)) return "wrong element " + std::to_string(i);
      }
      std::vector<float> sum(100, 1);
      if (auto done = communicator.all_reduce(sum.data(), sum.data(), sum.size(), DataType::f32); !done) return to_string(done.error());
    }
    return "";
  };
  SECTION("as threads") {
    for (const std::uint32_t ranks : {2u, 3u, 4u}) CHECK(complaints(run_threads(ranks, body)) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u, 4u}) CHECK(complaints(run_processes(ranks, body)) == "");
  }
}

TEST_CASE("messages under way between two ranks keep their order, while the others are in a collective", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    constexpr std::int32_t messages = 20;
    for (const std::uint64_t count : {1u, 300u, 100'000u}) {
      std::vector<std::vector<std::int32_t>> data(messages, std::vector<std::int32_t>(count, -1));
      std::vector<Work> works;
      for (std::int32_t k = 0; k < messages; ++k) {
        if (communicator.rank() == 0) std::fill(data[k].begin(), data[k].end(), k);
        if (communicator.rank() == 0) works.push_back(communicator.start_send(data[k].data(), count, DataType::i32, 1));
        if (communicator.rank() == 1) works.push_back(communicator.start_recv(data[k].data(), count, DataType::i32, 0));
      }
      for (std::size_t k = 0; k < works.size(); ++k) {
        if (auto done = works[k].wait(); !done) return to_string(done.error());
        if (data[k].front() != static_cast<std::int32_t>(k) || data[k].back() != static_cast<std::int32_t>(k))
          return "message " + std::to_string(k) + " is number " + std::to_string(data[k].front());
      }
      // the others have been here since the messages began
      std::vector<float> sum(100, 1);
      if (auto done = communicator.all_reduce(sum.data(), sum.data(), sum.size(), DataType::f32); !done) return to_string(done.error());
      if (auto wrong = check_sum(sum, static_cast<float>(communicator.size())); !wrong.empty()) return wrong;
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(4, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(4, body)) == "");
}

TEST_CASE("a small send returns before its receiver comes") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::int32_t value = 42;
    if (communicator.rank() == 0) {
      if (auto done = communicator.send(&value, 1, DataType::i32, 1); !done) return to_string(done.error());
      return communicator.barrier() ? "" : "barrier failed";
    }
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    value = 0;
    if (auto done = communicator.recv(&value, 1, DataType::i32, 0); !done) return to_string(done.error());
    return value == 42 ? "" : "wrong value";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a group runs collectives and messages together, so that receiving first on both sides is no deadlock", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> a(1000, 1), b(10, 2);
    std::int64_t out = communicator.rank(), in = -1;
    const std::uint32_t peer = communicator.rank() ^ 1;
    communicator.group_begin();
    (void)communicator.all_reduce(a.data(), a.data(), a.size(), DataType::f32);
    (void)communicator.recv(&in, 1, DataType::i64, peer);
    (void)communicator.send(&out, 1, DataType::i64, peer);
    (void)communicator.all_reduce(b.data(), b.data(), b.size(), DataType::f32);
    if (auto done = communicator.group_end(); !done) return to_string(done.error());
    if (in != peer) return "wrong message";
    if (auto wrong = check_sum(a, 2); !wrong.empty()) return wrong;
    return check_sum(b, 4);
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("one thread's groups on two communicators run when the last one ends, in whatever order ranks have them", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    auto copy = communicator.duplicate();
    if (!copy) return to_string(copy.error());
    const bool swapped = communicator.rank() == 1;
    Communicator& outer = swapped ? *copy : communicator;
    Communicator& inner = swapped ? communicator : *copy;
    for (int round = 0; round < 50; ++round) {
      std::vector<float> a(20, 1), b(20, 2), c(5, 3);
      outer.group_begin();
      (void)outer.all_reduce(a.data(), a.data(), a.size(), DataType::f32);
      inner.group_begin();
      Work work = inner.start(Call{Collective::all_reduce, b.data(), b.data(), b.size(), DataType::f32, ReduceOp::sum});
      if (auto ended = inner.group_end(); !ended) return to_string(ended.error());
      if (b[0] != 2) return "the inner group ran before the outer one's end";
      if (auto ended = outer.group_end(); !ended) return to_string(ended.error());
      if (!work.done()) return "the groups ended before their calls";
      if (a[19] != 3 || b[19] != 3) return "wrong sums";
      if (outer.group_end()) return "a group ended twice";
      if (auto done = communicator.all_reduce(c.data(), c.data(), 5, DataType::f32); !done) return to_string(done.error());
      if (c[4] != 6) return "a call after the groups didn't run";
    }
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a communicator that is destroyed with its group open runs what the group has, as it does with started calls", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> a(3000, 1), b(20, 2);
    auto copy = communicator.duplicate();
    if (!copy) return to_string(copy.error());
    const auto begin = std::chrono::steady_clock::now();
    {
      Communicator passing = std::move(*copy);
      passing.group_begin();
      communicator.group_begin();
      (void)passing.all_reduce(a.data(), a.data(), a.size(), DataType::f32);
      (void)communicator.all_reduce(b.data(), b.data(), b.size(), DataType::f32);
      if (auto ended = communicator.group_end(); !ended) return to_string(ended.error());
    }
    if (auto done = communicator.barrier(); !done) return to_string(done.error());
    if (a[2999] + b[19] != 2 + 4) return "wrong sums";
    return std::chrono::steady_clock::now() - begin < std::chrono::seconds(5) ? "" : "it took the time that is left to calls that nobody runs";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("group_end without group_begin is an error and not a crash", "[threads]") {
  auto made = Communicator::in_process(1);
  REQUIRE(made.has_value());
  const auto ended = (*made)[0].group_end();
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error().code == Errc::invalid_argument);
}

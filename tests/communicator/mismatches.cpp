// Ranks that disagree: all raise, those in other calls too, and every error says who called what.
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

using namespace rondo;
using Clock = std::chrono::steady_clock;

TEST_CASE("ranks that disagree on one argument all raise an error that says who called what", "[threads]") {
  const auto cases = disagreements();
  const std::vector<std::uint32_t> processes = sanitized ? std::vector<std::uint32_t>{3} : std::vector<std::uint32_t>{2, 3, 4};
  const auto check_all = [&](const auto& run_ranks, const std::vector<std::uint32_t>& numbers, double bound_seconds) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (const std::uint32_t ranks : numbers) {
        INFO("case " << i << ", " << ranks << " ranks");
        CHECK(complaints(run_ranks(ranks, [&](Communicator& c) { return mismatch(c, cases[i], bound_seconds); })) == "");
      }
  };
  // threads run under sanitizers too, which are slow
  SECTION("as threads") check_all([](std::uint32_t ranks, const RankBody& body) { return run_threads(ranks, body); }, {2, 3, 4}, 5);
  SECTION("as processes") check_all([](std::uint32_t ranks, const RankBody& body) { return run_processes(ranks, body); }, processes, 1);
}

TEST_CASE("an all_to_all in place on some ranks alone is a mismatch that says so", "[threads]") {
  const auto of = [](std::uint64_t count) {
    return [count](Communicator& communicator) -> std::string {
      std::vector<float> in(count * communicator.size(), 1), out(count * communicator.size());
      float* const output = communicator.rank() == 1 ? in.data() : out.data();
      const std::string call = "all_to_all of " + std::to_string(count) + " f32";
      const auto done = communicator.all_to_all(in.data(), output, count, DataType::f32);
      return expect_error(done, Errc::mismatch, {"rank 1 called " + call + " in place", "rank 0 called " + call});
    };
  };
  SECTION("as threads") {
    for (const std::uint64_t count : {1u, 100'000u}) CHECK(complaints(run_threads(2, of(count))) == "");
  }
  SECTION("as processes") {
    for (const std::uint64_t count : {1u, 100'000u}) CHECK(complaints(run_processes(2, of(count))) == "");
  }
}

TEST_CASE("an all_to_all of no elements is in place on no rank", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 0;
    const auto done = communicator.all_to_all(communicator.rank() == 0 ? nullptr : &value, nullptr, 0, DataType::f32);
    return done ? "" : to_string(done.error());
  };
  CHECK(complaints(run_threads(2, body)) == "");
}

TEST_CASE("a sender and a receiver that disagree on the count both raise a mismatch, and so do the others", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : {2u, 3u, 5u}) CHECK(complaints(run_threads(ranks, [](Communicator& c) { return pair_mismatch(c, 5); })) == "");
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 3u, 5u}) CHECK(complaints(run_processes(ranks, [](Communicator& c) { return pair_mismatch(c, 1); })) == "");
  }
}

TEST_CASE("a message and the receive that it meets have the same tag, or all raise a mismatch", "[threads]") {
  struct Tags {
    std::uint32_t sent, received;
    bool from_any;
    std::vector<std::string> words;
  };
  const std::string call = "called send_recv of 10 f32";
  const std::vector<Tags> cases = {{3, 4, false, {"rank 0 " + call + " with tag 3", "rank 1 " + call + " with tag 4"}},
                                   {3, 0, false, {"rank 0 " + call + " with tag 3", "rank 1 " + call}},
                                   {3, 4, true, {"rank 0 " + call + " with tag 3", "rank 1 " + call + " with tag 4"}},
                                   {4'000'000'000, 4'000'000'000, false, {}}};
  const auto body = [&](const Tags& tags) {
    return [&](Communicator& communicator) -> std::string {
      std::vector<float> values(10, 1);
      const bool sends = communicator.rank() == 0;
      Work work = sends           ? communicator.start_send(values.data(), 10, DataType::f32, 1, tags.sent)
                  : tags.from_any ? communicator.start_recv_any(values.data(), 10, DataType::f32, tags.received)
                                  : communicator.start_recv(values.data(), 10, DataType::f32, 0, tags.received);
      Result<void> result = work.wait();
      if (result) result = communicator.barrier();
      if (tags.words.empty()) return result ? "" : to_string(result.error());
      return expect_error(result, Errc::mismatch, tags.words);
    };
  };
  SECTION("as threads") {
    for (const Tags& tags : cases) CHECK(complaints(run_threads(2, body(tags))) == "");
  }
  SECTION("as processes") {
    for (const Tags& tags : cases) CHECK(complaints(run_processes(2, body(tags))) == "");
  }
}

TEST_CASE("started calls that disagree raise a mismatch from their works, and so do all calls after them", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> values(20'000, 1);
    std::vector<Work> works;
    const auto begin = Clock::now();
    for (const std::uint64_t count : {std::uint64_t{16}, std::uint64_t{10'000} + (communicator.rank() == 0 ? 0 : 1), std::uint64_t{16}})
      works.push_back(communicator.start(Call{Collective::all_reduce, values.data(), values.data(), count, DataType::f32, ReduceOp::sum}));
    if (auto done = works[0].wait(); !done) return "the call before: " + to_string(done.error());
    for (std::size_t i = 1; i < works.size(); ++i)
      if (auto wrong = expect_error(works[i].wait(), Errc::mismatch, {"10000 f32", "10001 f32"}); !wrong.empty()) return wrong;
    if (auto wrong = expect_error(communicator.barrier(), Errc::mismatch, {"10000 f32", "10001 f32"}); !wrong.empty()) return wrong;
    return seconds_since(begin) < 5 ? "" : "took too long";
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("a group in which ranks disagree ends with a mismatch on every rank, whether on a collective or on a message", "[threads]") {
  for (const bool in_message : {false, true}) {
    const auto body = [in_message](Communicator& communicator) -> std::string {
      std::vector<float> values(20'000, 1), out(100, 1), in(100);
      const std::uint32_t peer = communicator.rank() ^ 1;
      const std::uint64_t extra = communicator.rank() == 0 ? 0 : 1;
      const auto begin = Clock::now();
      communicator.group_begin();
      (void)communicator.all_reduce(values.data(), values.data(), in_message ? 10'000 : 10'000 + extra, DataType::f32);
      (void)communicator.send(out.data(), in_message ? 98 + extra : 98, DataType::f32, peer);
      (void)communicator.recv(in.data(), 98, DataType::f32, peer);
      const auto ended = communicator.group_end();
      const std::vector<std::string> words = in_message ? std::vector<std::string>{"98 f32", "99 f32"} : std::vector<std::string>{"10000 f32", "10001 f32"};
      const bool may_end = in_message && communicator.rank() == 1;  // its message is too long, and has left
      if (auto wrong = expect_error(ended && may_end ? communicator.barrier() : ended, Errc::mismatch, words); !wrong.empty()) return wrong;
      return seconds_since(begin) < 5 ? "" : "took too long";
    };
    INFO((in_message ? "on a message" : "on a collective"));
    CHECK(complaints(run_threads(2, body)) == "");
  }
}

// Communicators split from one another: right results, an order and an end of their own, in the memory of the first.
#include <csignal>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"
#include "support/uneven.hpp"

namespace {

using namespace rondo;

/// Every collective, messages to the next rank, and blocks of any lengths.
std::string exercise(Communicator& communicator, std::uint64_t seed) {
  for (const std::uint64_t count : {3u, 3000u, 60'000u})
    for (const Collective collective : moving_collectives) {
      const Shape shape{collective, DataType::f32, ReduceOp::sum, 0, 0, static_cast<std::uint32_t>(seed) % communicator.size(), count};
      if (auto wrong = perform(communicator, Trial{shape, false, seed++}); !wrong.empty()) return wrong;
    }
  if (communicator.size() > 1) {
    std::uint32_t mine = communicator.rank() + 7, theirs = 0;
    const std::uint32_t next = (communicator.rank() + 1) % communicator.size();
    const std::uint32_t previous = (communicator.rank() + communicator.size() - 1) % communicator.size();
    communicator.group_begin();
    (void)communicator.send(&mine, 1, DataType::u32, next);
    (void)communicator.recv(&theirs, 1, DataType::u32, previous);
    if (auto done = communicator.group_end(); !done) return to_string(done.error());
    if (theirs != previous + 7) return "a wrong message";
  }
  return swap_uneven(communicator, seed, 2000);
}

Result<Communicator> child_of(Communicator& parent, std::int32_t color, std::int32_t key) {
  auto child = parent.split(color, key);
  if (!child) return child.error();
  if (!*child) return Error{Errc::io, "there is no child"};
  return std::move(**child);
}

/// Halves, their reversed halves, and pairs across: all alive at once, used in turns with the parent.
std::string families(Communicator& parent) {
  const std::uint32_t size = parent.size(), rank = parent.rank();
  const std::uint32_t half = (size + 1) / 2;
  auto halves = child_of(parent, rank < half ? 3 : 1, 0);
  if (!halves) return to_string(halves.error());
  const std::uint32_t expected_size = rank < half ? half : size - half;
  if (halves->size() != expected_size || halves->rank() != (rank < half ? rank : rank - half)) return "a wrong rank or size in a half";
  auto reversed = child_of(*halves, 0, -static_cast<std::int32_t>(rank));
  if (!reversed) return "a child's child: " + to_string(reversed.error());
  if (reversed->rank() != halves->size() - 1 - halves->rank()) return "the key is no order";
  const auto across = parent.split(rank == 0 ? no_color : static_cast<std::int32_t>(rank % half), 0);
  if (!across) return to_string(across.error());
  if (across->has_value() != (rank != 0)) return "no_color doesn't hold";
  auto copy = parent.duplicate();
  if (!copy) return to_string(copy.error());
  if (copy->rank() != rank || copy->size() != size) return "a copy is another one";
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (Communicator* each : {&*halves, &parent, &*reversed, &*copy})
      if (auto wrong = exercise(*each, round * 100); !wrong.empty()) return wrong;
    if (*across)
      if (auto wrong = exercise(const_cast<Communicator&>(**across), round); !wrong.empty()) return "across: " + wrong;
  }
  return "";
}

/// Children that outlive the communicator they come from.
std::string orphans(Communicator& parent) {
  std::vector<Communicator> children;
  {
    auto first = parent.duplicate();
    if (!first) return to_string(first.error());
    for (int i = 0; i < 3; ++i) {
      auto child = child_of(*first, static_cast<std::int32_t>(first->rank() % 2), 0);
      if (!child) return to_string(child.error());
      children.push_back(std::move(*child));
    }
  }
  for (Communicator& child : children)
    if (auto wrong = exercise(child, 11); !wrong.empty()) return wrong;
  return exercise(parent, 5);
}

/// Thousands of short lives, some of them longer than others.
std::string generations(Communicator& parent) {
  std::mt19937 random(7);  // the same on all ranks
  std::vector<Communicator> alive;
  std::vector<float> values(70'000, 1);
  for (int i = 0; i < 1500; ++i) {
    auto child = child_of(parent, 0, random() % 2 == 0 ? 0 : -static_cast<std::int32_t>(parent.rank()));
    if (!child) return "child " + std::to_string(i) + ": " + to_string(child.error());
    alive.push_back(std::move(*child));
    Communicator& some = alive[random() % alive.size()];
    const std::uint64_t count = random() % 4 == 0 ? values.size() : 3;
    std::fill_n(values.begin(), count, 1.0f);
    if (auto done = some.all_reduce(values.data(), values.data(), count, DataType::f32); !done) return to_string(done.error());
    if (values[0] != static_cast<float>(parent.size()) || values[count - 1] != values[0]) return "a wrong sum in generation " + std::to_string(i);
    if (alive.size() > 4) alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(random() % alive.size()));
  }
  return "";
}

}  // namespace

TEST_CASE("split communicators run every collective, among one another and with the one they come from", "[threads]") {
  SECTION("as threads") {
    for (const std::uint32_t ranks : sanitized ? std::vector<std::uint32_t>{2, 5} : std::vector<std::uint32_t>{1, 2, 3, 5, 8}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_threads(ranks, families)) == "");
    }
  }
  SECTION("as processes") {
    for (const std::uint32_t ranks : {2u, 4u, 7u}) {
      INFO(ranks << " ranks");
      CHECK(complaints(run_processes(ranks, families)) == "");
    }
  }
}

TEST_CASE("split communicators outlive the one they come from", "[threads]") {
  SECTION("as threads") CHECK(complaints(run_threads(4, orphans)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(4, orphans)) == "");
}

TEST_CASE("room and memory of split communicators that have ended serve later ones", "[threads]") {
  SECTION("as threads") CHECK(complaints(run_threads(3, generations)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, generations)) == "");
}

TEST_CASE("threads use a communicator each at the same time", "[threads]") {
  const auto body = [](Communicator& parent) -> std::string {
    std::vector<Communicator> copies;
    for (int i = 0; i < 3; ++i) {
      auto copy = parent.duplicate();
      if (!copy) return to_string(copy.error());
      copies.push_back(std::move(*copy));
    }
    std::vector<std::string> said(copies.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < copies.size(); ++i) threads.emplace_back([&, i] {
      for (std::uint64_t round = 0; round < 4 && said[i].empty(); ++round) said[i] = exercise(copies[i], 10 * i + round);
    });
    const std::string own = exercise(parent, 77);
    for (std::thread& thread : threads) thread.join();
    for (const std::string& each : said)
      if (!each.empty()) return each;
    return own;
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("what is wrong with a split is said, and the communicator stays usable", "[threads]") {
  const auto body = [](Communicator& parent) -> std::string {
    const auto failed = [](const auto& result) { return result ? Result<void>() : Result<void>(result.error()); };
    if (auto wrong = expect_error(failed(parent.split(-5, 0)), Errc::invalid_argument, {"color -5", "no_color"}); !wrong.empty()) return wrong;
    parent.group_begin();
    const std::string in_group = expect_error(failed(parent.split(0, 0)), Errc::invalid_argument, {"group_end"});
    (void)parent.group_end();
    if (!in_group.empty()) return in_group;
    return exercise(parent, 1);
  };
  CHECK(complaints(run_threads(2, body)) == "");
}

TEST_CASE("communicators that threads split at the same time are told apart when ranks call them in different orders", "[threads]") {
  const auto body = [](Communicator& parent) -> std::string {
    auto one = parent.duplicate(), other = parent.duplicate();
    if (!one || !other) return "no parents";
    std::optional<Result<Communicator>> of_one, of_other;
    if (!parent.barrier()) return "a barrier failed";
    std::thread splitter([&] { of_other.emplace(other->duplicate()); });
    of_one.emplace(one->duplicate());
    splitter.join();
    if (!*of_one || !*of_other) return "no children";
    Communicator& called = parent.rank() == 0 ? **of_one : **of_other;
    // Rank 0's deadline comes, and rank 1 waits until then.
    if (parent.rank() == 0 && !called.set_timeout(std::chrono::seconds(1))) return "no deadline";
    const auto ended = called.barrier();
    if (ended) return "the call ended";
    return parent.rank() == 1 ? "" : expect_error(ended, Errc::deadline_exceeded, {"it waits in", "of this family", "different orders"});
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("ranks that call two communicators in different orders are told so at the deadline", "[threads]") {
  const auto body = [](Communicator& parent) -> std::string {
    auto copy = parent.duplicate();
    if (!copy) return to_string(copy.error());
    Communicator& first = parent.rank() == 0 ? parent : *copy;
    // Rank 0's deadline alone comes: at rank 1's nobody would wait in the other communicator any more.
    if (parent.rank() == 0 && !first.set_timeout(std::chrono::seconds(1))) return "no deadline";
    const auto ended = first.barrier();
    if (ended) return "the call ended";
    if (parent.rank() == 1) return "";
    return expect_error(ended, Errc::deadline_exceeded, {"waits in communicator 1 of this family, this one is 0", "different orders"});
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("an abort ends a split communicator and not the others", "[threads]") {
  const auto body = [](Communicator& parent) -> std::string {
    auto child = parent.duplicate();
    if (!child) return to_string(child.error());
    if (parent.rank() == 0) child->abort();
    if (auto wrong = expect_error(child->barrier(), Errc::aborted, {"abort()"}); !wrong.empty()) return wrong;
    if (auto again = child->duplicate(); again || again.error().code != Errc::aborted) return "an aborted communicator was split";
    return exercise(parent, 3);
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("kill -9 of a member of a split communicator gives the survivors in it an error that names it within a second") {
  const Death death;
  const auto body = [&](Communicator& parent) -> std::string {
    auto child = child_of(parent, parent.rank() < 2 ? 0 : 1, -static_cast<std::int32_t>(parent.rank()));
    if (!child) return to_string(child.error());
    if (parent.rank() == 3) death.come();
    if (parent.rank() < 2) {  // the others' communicator works on
      for (int i = 0; i < 50; ++i)
        if (auto wrong = exercise(*child, 3); !wrong.empty()) return wrong;
      return "";
    }
    // rank 3 of the parent is the second of three here
    const auto ended = child->barrier();
    const std::int64_t passed_ns = death.passed_ns();
    if (auto wrong = expect_error(ended, Errc::peer_failed, {"rank 1 (process"}); !wrong.empty()) return wrong;
    return passed_ns < 1'000'000'000 ? "" : "took " + std::to_string(passed_ns / 1'000'000) + " ms";
  };
  const auto said = run_processes(5, body);
  for (const std::uint32_t rank : {0u, 1u, 2u, 4u}) CHECK(said[rank] == "");
}

TEST_CASE("without memory for a split every rank of the color is told why, and goes on") {
  // In a process of its own, whose budget nobody has touched.
  const auto body = [](Communicator&) -> std::string {
    auto ranks = Communicator::in_process(2);
    if (!ranks) return to_string(ranks.error());
    const auto fill = [](Communicator& parent) -> std::string {
      std::vector<Communicator> children;
      for (;;) {
        auto child = parent.duplicate();
        if (!child && child.error().code != Errc::out_of_resources && child.error().code != Errc::peer_failed) return to_string(child.error());
        if (!child && child.error().detail.find("RONDO_STAGING_BYTES") == std::string::npos) return "it doesn't name the limit: " + to_string(child.error());
        if (!child) break;
        if (children.size() > 1000) return "there was no limit";
        children.push_back(std::move(*child));
      }
      if (children.size() < 20) return "only " + std::to_string(children.size()) + " children";
      if (auto wrong = exercise(children.back(), 1); !wrong.empty()) return wrong;
      children.clear();
      if (auto done = parent.barrier(); !done) return to_string(done.error());
      auto again = parent.duplicate();
      return again ? exercise(*again, 2) : to_string(again.error());
    };
    return complaints(run_each(*ranks, fill));
  };
  CHECK(complaints(run_processes(1, body)) == "");
}

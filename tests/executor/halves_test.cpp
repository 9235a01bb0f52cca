// Which half of each rank's staging a call writes.
#include <map>
#include <random>
#include <set>

#include "executor/layouts.hpp"
#include "executor/slot_writer.hpp"
#include "executor/two_ranks.hpp"
#include "planner/requests.hpp"

namespace {

using namespace rondo;
using namespace rondo::test;

/// Of three ranks whose areas nobody writes.
Context three_ranks() {
  std::vector<std::byte*> areas;
  static std::byte place[3];
  for (std::byte& byte : place) areas.push_back(&byte);
  return Context(staged_layout, 0, areas, {0, 1, 2}, nullptr);
}

/// Begins a call in which `writer`'s slots are written, and says in which half those of `rank` lie.
std::byte* half_of(Context& context, std::uint32_t writer, std::uint32_t rank) {
  ++context.call;
  return context.take_halves(writer).bases[base_staging + rank];
}

}  // namespace

TEST_CASE("a plan says whose slots it writes, if there are just one rank's, or none") {
  const auto writer = [](Collective collective, std::uint32_t ranks, std::uint32_t root, const char* algorithm, std::uint64_t bytes = 1 << 16) {
    const auto plan = plan_of(request_of(collective, ranks, bytes, root), algorithm);
    REQUIRE(plan);
    return only_writer(lower(*plan));
  };
  CHECK(writer(Collective::broadcast, 3, 1, "one_shot") == 1);
  CHECK(writer(Collective::scatter, 3, 2, "one_shot") == 2);
  CHECK(writer(Collective::gather, 2, 0, "one_shot") == 1);
  CHECK(writer(Collective::reduce, 2, 1, "one_shot") == 0);
  CHECK(writer(Collective::gather, 3, 0, "one_shot") == several_writers);
  CHECK(writer(Collective::broadcast, 3, 0, "ring") == several_writers);
  CHECK(writer(Collective::all_reduce, 2, 0, "one_shot") == several_writers);
  CHECK(writer(Collective::all_reduce, 2, 0, "inline", 8) == no_writer);
  CHECK(writer(Collective::barrier, 2, 0, "one_shot") == no_writer);
}

TEST_CASE("no half is written in two calls one after another, whoever writes in them") {
  Context context = three_ranks();
  std::mt19937_64 random(11);
  std::map<std::uint32_t, std::pair<std::uint64_t, std::byte*>> last;  // of each rank: the call in which its slots were written, and where
  for (int k = 0; k < 3000; ++k) {
    const auto drawn = static_cast<std::uint32_t>(random() % 6);
    const std::uint32_t writer = drawn < 3 ? drawn : drawn < 5 ? several_writers : no_writer;
    ++context.call;
    std::byte** const bases = context.take_halves(writer).bases;
    if (drawn > 3) continue;  // nobody writes, even where several may
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (writer != several_writers && writer != rank) continue;
      std::byte* const half = bases[base_staging + rank];
      if (last.count(rank) != 0 && last[rank].first + 1 == context.call) REQUIRE(half != last[rank].second);
      last[rank] = {context.call, half};
    }
  }
}

TEST_CASE("a rank that writes alone goes through all of its slots in both halves, and several do while nobody writes in between") {
  for (const std::uint32_t writer : {1u, several_writers})
    for (const std::vector<std::uint32_t>& between : {std::vector<std::uint32_t>{}, {no_writer}, {no_writer, no_writer}, {0u}, {0u, 2u, no_writer}}) {
      if (writer == several_writers && !between.empty() && between.front() == 0) continue;
      Context context = three_ranks();
      std::set<std::pair<std::byte*, std::uint64_t>> places;
      for (int k = 0; k < 16; ++k) {
        ++context.call;
        const Context::Halves halves = context.take_halves(writer);
        places.emplace(halves.bases[base_staging + 1], halves.earlier % 8);
        for (const std::uint32_t other : between) half_of(context, other, 0);
      }
      CHECK(places.size() == 16);
    }
}

TEST_CASE("where several ranks and one of them alone write in turn, that one comes back to no place before half of its slots") {
  using Turn = std::vector<std::uint32_t>;
  for (const Turn& turn : {Turn{several_writers, 0u}, Turn{several_writers, several_writers, 0u}, Turn{several_writers, 0u, 0u, no_writer}}) {
    Context context = three_ranks();
    std::map<std::pair<std::byte*, std::uint64_t>, int> last;  // by place: how many of the rank's writes before the last one was
    int writes = 0;
    for (int k = 0; k < 200; ++k) {
      const std::uint32_t writer = turn[static_cast<std::size_t>(k) % turn.size()];
      ++context.call;
      const Context::Halves halves = context.take_halves(writer);
      if (writer != several_writers && writer != 0) continue;
      const std::pair place{halves.bases[base_staging], halves.earlier % 8};
      if (const auto found = last.find(place); found != last.end()) REQUIRE(writes - found->second >= 8);
      last[place] = writes++;
    }
  }
}

TEST_CASE("a call that is withdrawn has taken no half") {
  for (const std::uint32_t withdrawn : {1u, several_writers, no_writer}) {
    Context context = three_ranks();
    half_of(context, 1, 1);
    ++context.call;
    context.take_halves(withdrawn);
    context.give_back_halves(withdrawn);
    --context.call;
    Context other = three_ranks();
    half_of(other, 1, 1);
    for (const std::uint32_t writer : {1u, several_writers, 0u, 1u}) {
      ++context.call, ++other.call;
      const Context::Halves halves = context.take_halves(writer), as_if_never = other.take_halves(writer);
      CHECK(halves.earlier == as_if_never.earlier);
      for (std::uint32_t rank = 0; rank < 3; ++rank) CHECK(halves.bases[base_staging + rank] == as_if_never.bases[base_staging + rank]);
    }
  }
}

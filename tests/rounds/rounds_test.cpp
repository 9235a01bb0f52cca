// How ranks meet and go through rounds: whole jobs, simulated. Longer runs: simulate_rounds.
#include "bootstrap/rounds.hpp"

#include <algorithm>

#include "bootstrap/attendance.hpp"
#include "bootstrap/peers.hpp"
#include "simulation.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

void run_jobs(std::uint64_t jobs, std::uint32_t most_ranks) {
  for (std::uint64_t seed = 0; seed < jobs; ++seed) {
    const Job job = random_job(seed, most_ranks);
    INFO(text_of(job));
    REQUIRE(simulate(job).wrong == "");
  }
}

/// What is wrong with the places of so many ranks.
std::string fault_of_tree(std::uint32_t size, std::uint32_t fan_out) {
  std::uint32_t links = 0;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const TreePlace place = place_in_tree(rank, size, fan_out);
    const std::string name = std::to_string(rank);
    if (place.children.size() > fan_out) return name + " has too many children";
    if (rank != 0 && !place_in_tree(place.parent, size, fan_out).child(rank)) return name + " isn't its parent's child";
    if (rank != 0 && place.depth != place_in_tree(place.parent, size, fan_out).depth + 1) return name + " is at the wrong depth";
    std::uint32_t end = rank + 1;
    for (const std::uint32_t child : place.children) {
      if (child != end) return name + "'s children don't follow one another";
      end = place.end_of(child);
      if (end != place_in_tree(child, size, fan_out).end) return name + " and its child disagree on what that speaks for";
      ++links;
    }
    if (end != place.end) return name + "'s children don't make up its range";
  }
  return links + 1 == size ? "" : "it isn't one tree";
}

}  // namespace

TEST_CASE("in every tree of ranks each one speaks for a range that its children share") {
  for (std::uint32_t size = 1; size <= 70; ++size)
    for (const std::uint32_t fan_out : {1u, 2u, 3u, 16u, 69u}) {
      INFO(size << " ranks, fan-out " << fan_out);
      REQUIRE(fault_of_tree(size, fan_out) == "");
    }
  CHECK(fault_of_tree(4096, 16) == "");
  std::uint32_t deepest = 0;
  for (std::uint32_t rank = 0; rank < 4096; ++rank) deepest = std::max(deepest, place_in_tree(rank, 4096, 16).depth);
  CHECK(deepest == 3);
}

TEST_CASE("simulated jobs end as they must, whatever is lost, slow, stopped or dies") {
  run_jobs(4000, 12);
  run_jobs(100, 200);
}

TEST_CASE("simulated jobs of 4,096 ranks go through their rounds, and where ranks die or attempts are lost all learn it") {
  Job job{4096, 16, 1, 0, 0, 0, 0};
  CHECK(simulate(job).wrong == "");
  CHECK(simulate(job).well == 4096);
  job.lost_attempts = 0.3;
  CHECK(simulate(job).well == 4096);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Job harmed{4096, 16, seed, 0.1, 2, 0, 1};
    INFO(text_of(harmed));
    CHECK(simulate(harmed).wrong == "");
  }
}

TEST_CASE("whoever comes to a meeting that comes to nothing is told so, and isn't awaited any more") {
  Attendance attendance({"job", 4}, 0, "process 7", {1, 2, 3});
  REQUIRE(attendance.hear(hello_of(1, 4, {}), "process 8").seat == 0);
  const auto mismatch = attendance.hear(hello_of(2, 5, {}), "process 9");
  CHECK_FALSE(mismatch.verdict);
  REQUIRE(attendance.refusal());
  CHECK_FALSE(attendance.is_complete());
  const auto late = attendance.hear(hello_of(3, 4, {}), "process 10");
  CHECK_FALSE(late.seat);
  CHECK(to_string(late.verdict.error()) == to_string(*attendance.refusal()));
  CHECK(attendance.is_complete());
}

// Algorithms of few rounds: proved for every number of ranks that they serve, and with no more messages in a row than they promise.
#include <deque>
#include <map>
#include <tuple>

#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

std::uint32_t log2_ceil(std::uint32_t ranks) {
  std::uint32_t rounds = 0;
  while ((std::uint32_t{1} << rounds) < ranks) ++rounds;
  return rounds;
}

/// One algorithm's form for one collective: which numbers of ranks it serves, and the most messages that follow one another.
struct Served {
  const char* algorithm;
  Collective collective;
  bool (*serves)(std::uint32_t ranks);
  std::uint32_t (*rounds)(std::uint32_t ranks);
};

bool any(std::uint32_t) { return true; }
bool even(std::uint32_t ranks) { return ranks % 2 == 0; }
bool powers_of_two(std::uint32_t ranks) { return (ranks & (ranks - 1)) == 0; }
std::uint32_t log4_ceil(std::uint32_t ranks) { return (log2_ceil(ranks) + 1) / 2; }
std::uint32_t both_ways(std::uint32_t ranks) { return 2 * log2_ceil(ranks); }

const Served forms[] = {
    {"bruck", Collective::all_gather, any, log2_ceil},
    {"pat", Collective::all_gather, any, log2_ceil},
    {"pat", Collective::reduce_scatter, any, log2_ceil},
    {"swing", Collective::all_reduce, powers_of_two, both_ways},
    {"bine", Collective::all_reduce, even, both_ways},
    {"bine", Collective::all_gather, even, log2_ceil},
    {"bine", Collective::reduce_scatter, even, log2_ceil},
    {"bine", Collective::broadcast, even, log2_ceil},
    {"bine", Collective::reduce, even, log2_ceil},
    {"bruck", Collective::all_to_all, any, log2_ceil},
    {"knomial", Collective::gather, any, log4_ceil},
    {"knomial", Collective::scatter, any, log4_ceil},
    {"parameter_server", Collective::all_reduce, any, [](std::uint32_t) { return 2u; }},
    {"parameter_server", Collective::reduce_scatter, any, [](std::uint32_t) { return 2u; }},
    {"parameter_server", Collective::all_gather, any, [](std::uint32_t) { return 2u; }},
    {"parameter_server", Collective::broadcast, any, [](std::uint32_t) { return 1u; }},
    {"parameter_server", Collective::reduce, any, [](std::uint32_t) { return 1u; }},
    {"knomial", Collective::broadcast, any, log4_ceil},
    {"knomial", Collective::reduce, any, log4_ceil},
};

/// The longest chain of messages, each sent after the one before it has arrived.
std::uint32_t rounds_of(const Plan& plan) {
  struct Rank {
    Program program;
    std::size_t next = 0;
    std::uint32_t heard = 0;  // messages in the longest chain that ends here
  };
  std::vector<Rank> ranks(plan.header.ranks);
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) ranks[rank].program = plan.program(rank);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::deque<std::uint32_t>> links;  // sender, receiver, channel
  const auto arrived = [&](std::uint32_t rank, const Step& step) {
    for (const Operand& source : step.sources)
      if (source.buffer == Buffer::link && links[{source.rank, rank, source.index}].empty()) return false;
    return true;
  };
  std::uint32_t longest = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) {
      Rank& here = ranks[rank];
      REQUIRE(here.program.lanes.size() == 1);
      const std::vector<Step>& steps = here.program.lanes[0].steps;
      for (; here.next < steps.size() && arrived(rank, steps[here.next]); ++here.next, moved = true) {
        const Step& step = steps[here.next];
        for (const Operand& source : step.sources) {
          if (source.buffer != Buffer::link) continue;
          auto& link = links[{source.rank, rank, source.index}];
          here.heard = std::max(here.heard, link.front());
          link.pop_front();
        }
        for (const Operand& destination : step.destinations)
          if (destination.buffer == Buffer::link) links[{rank, destination.rank, destination.index}].push_back(here.heard + 1);
        longest = std::max(longest, here.heard);
      }
    }
  }
  return longest;
}

void check(const Served& form, std::uint32_t ranks, std::uint32_t root) {
  INFO(form.algorithm << " " << to_string(form.collective) << ", " << ranks << " ranks, root " << root);
  const auto plan = plan_of(request_of(form.collective, ranks, 1 << 20, root), form.algorithm, false);
  CHECK(plan.has_value() == form.serves(ranks));
  if (!plan) return;
  for (const Plan& way : {*plan, lower(*plan)}) {
    const Proof proof = verify(way);
    for (const Violation& violation : proof.violations) FAIL_CHECK(to_string(violation));
    CHECK(proof.least_safe_depth <= plan->header.depth);
  }
  CHECK(rounds_of(*plan) <= form.rounds(ranks));
}

}  // namespace

TEST_CASE("algorithms of few rounds are proved for every number of ranks up to 66, and for some beyond") {
  for (const Served& form : forms) {
    for (std::uint32_t ranks = 2; ranks <= 66; ++ranks)
      for (const std::uint32_t root : {0u, ranks / 3, ranks - 1})
        if (root == 0 || is_rooted(form.collective)) check(form, ranks, root);
    for (const std::uint32_t ranks : {74u, 100u, 127u, 128u, 142u, 200u}) check(form, ranks, 0);
  }
}

// Plans made by hand, each right, for the verifier's tests to break one thing of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rondo/plan.hpp"
#include "rondo/verifier.hpp"
#include "support/plan_steps.hpp"

namespace rondo::verifier_test {

using namespace rondo::test;

/// A plan as a value that tests can change: the header and a table.
struct Draft {
  PlanHeader header;
  std::vector<Program> programs;

  std::vector<Step>& steps(std::uint32_t rank, std::uint32_t lane = 0) { return programs[rank].lanes[lane].steps; }
  Step& step(std::uint32_t rank, std::uint32_t number, std::uint32_t lane = 0) { return steps(rank, lane)[number]; }
  void erase(std::uint32_t rank, std::uint32_t number) {
    steps(rank).erase(steps(rank).begin() + static_cast<std::ptrdiff_t>(number));
  }
  Plan plan() const { return Plan(header, programs); }
  Proof proof() const { return verify(plan()); }
};

inline Draft draft(Collective collective, std::uint32_t ranks, std::uint32_t chunks, std::uint32_t scratch_chunks,
                   std::uint32_t depth) {
  Draft made;
  made.header.algorithm = "by hand";
  made.header.collective = collective;
  made.header.ranks = ranks;
  made.header.chunks_per_block = chunks;
  made.header.scratch_chunks = scratch_chunks;
  made.header.depth = depth;
  made.programs.resize(ranks);
  for (Program& program : made.programs) program.lanes.resize(1);
  return made;
}

/// Two ranks: publish, read the other's. Steps: 0 credit, 1 copy, 2 signal, 3 wait, 4 reduce, 5 signal.
inline Draft one_shot() {
  Draft made = draft(Collective::all_reduce, 2, 1, 1, 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t peer = 1 - rank;
    Operands sources{input(0), scratch(0, peer)};
    if (rank == 1) std::swap(sources[0], sources[1]);
    made.steps(rank) = {wait(peer, 0, 1, 2), copy(input(0), {scratch(0)}),        signal(),
                        wait(peer, 0, 0),    combine(sources, {output(0)}, true), signal()};
  }
  return made;
}

/// Rank 1 fetches from rank 0's scratch. Steps of rank 0: 0 credit, 1 copy, 2 signal, 3 copy; of rank 1: 0 wait, 1
/// copy, 2 signal.
inline Draft staged_broadcast() {
  Draft made = draft(Collective::broadcast, 2, 1, 1, 2);
  made.steps(0) = {wait(1, 0, 0, 2), copy(input(0), {scratch(0)}), signal(), copy(input(0), {output(0)})};
  made.steps(1) = {wait(0, 0, 0), copy(scratch(0, 0), {output(0)}), signal()};
  return made;
}

/// Two ranks, each reduces one half; stages have skews 0, 1, 2. Steps of rank r with peer q:
/// 0 credit, 1 copy in[q] to scratch[q], 2 signal, 3 wait, 4 reduce to out[r] and scratch[r], 5 signal, 6 wait, 7 copy,
/// 8 signal.
inline Draft two_shot() {
  Draft made = draft(Collective::all_reduce, 2, 2, 2, 3);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t peer = 1 - rank;
    Operands sources{input(rank), scratch(rank, peer)};
    if (rank == 1) std::swap(sources[0], sources[1]);
    made.steps(rank) = {wait(peer, 0, 2, 3),
                        copy(input(peer), {scratch(peer)}),
                        signal(),
                        wait(peer, 0, 0, 0, 1),
                        combine(sources, {output(rank), scratch(rank)}, true, 1),
                        signal(1),
                        wait(peer, 0, 1, 0, 2),
                        copy(scratch(peer, peer), {output(peer)}, 2),
                        signal(2)};
  }
  return made;
}

/// Steps of rank r: 0 sends in[r]; s = 1 … p − 1 reduces and passes on; then p − 1 copies.
inline Draft ring_of_links(std::uint32_t p, std::uint32_t depth = 2) {
  Draft made = draft(Collective::all_reduce, p, p, 0, depth);
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    const std::uint32_t next = (rank + 1) % p;
    const std::uint32_t previous = (rank + p - 1) % p;
    std::vector<Step>& steps = made.steps(rank);
    steps.push_back(copy(input(rank), {link(next)}));
    for (std::uint32_t s = 1; s < p; ++s) {
      const std::uint32_t c = (rank + p - s) % p;
      Operands to{link(next)};
      if (s == p - 1) to.insert(to.begin(), output(c));
      steps.push_back(combine({link(previous), input(c)}, to, s == p - 1));
    }
    for (std::uint32_t s = 0; s + 1 < p; ++s) {
      Operands to{output((rank + p - s) % p)};
      if (s + 2 < p) to.push_back(link(next));
      steps.push_back(copy(link(previous), to));
    }
  }
  return made;
}

/// Binary tree from rank 0 over links. Rank 0: one copy; others: a copy from the parent to the children and the output.
inline Draft broadcast_tree(std::uint32_t p) {
  Draft made = draft(Collective::broadcast, p, 1, 0, 2);
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    Operands to{output(0)};
    for (std::uint32_t child = 2 * rank + 1; child <= 2 * rank + 2 && child < p; ++child) to.push_back(link(child));
    made.steps(rank) = {copy(rank == 0 ? input(0) : link((rank - 1) / 2), to)};
  }
  return made;
}

/// Each rank sends its block round. The own block is already there: right in place alone. Steps 0 … p − 2 of rank r:
/// send, then receive and pass on.
inline Draft all_gather_in_place(std::uint32_t p) {
  Draft made = draft(Collective::all_gather, p, 1, 0, 2);
  made.header.out_of_place = false;
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    const std::uint32_t next = (rank + 1) % p;
    const std::uint32_t previous = (rank + p - 1) % p;
    made.steps(rank).push_back(copy(input(0), {link(next)}));
    for (std::uint32_t s = 1; s < p; ++s) {
      Operands to{output((rank + p - s) % p)};
      if (s + 1 < p) to.push_back(link(next));
      made.steps(rank).push_back(copy(link(previous), to));
    }
  }
  return made;
}

/// Dissemination: round k is steps 2k (signal) and 2k + 1 (wait for the rank 2^k behind).
inline Draft barrier(std::uint32_t p) {
  Draft made = draft(Collective::barrier, p, 1, 0, 2);
  for (std::uint32_t rank = 0; rank < p; ++rank) {
    std::uint32_t round = 0;
    for (std::uint32_t distance = 1; distance < p; distance *= 2, ++round) {
      made.steps(rank).push_back(signal());
      made.steps(rank).push_back(wait((rank + p - distance) % p, 0, round));
    }
  }
  return made;
}

/// Two ranks read each other's inputs. Steps: 0 signal, 1 wait, 2 reduce, 3 signal, 4 wait.
inline Draft direct() {
  Draft made = draft(Collective::all_reduce, 2, 1, 0, 2);
  made.header.protocol = Protocol::direct;
  made.header.in_place = false;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t peer = 1 - rank;
    made.steps(rank) = {signal(), wait(peer, 0, 0), combine({input(0), input(0, peer)}, {output(0)}, true), signal(),
                        wait(peer, 0, 1)};
  }
  return made;
}

/// Two lanes of each of two ranks: lane 0 receives into scratch, lane 1 sends and, after that, reduces.
/// Lane 0: 0 copy link → scratch. Lane 1: 0 copy in → link, 1 reduce in, scratch → out after (0, 0).
inline Draft two_lanes() {
  Draft made = draft(Collective::all_reduce, 2, 1, 1, 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    made.programs[rank].lanes.resize(2);
    made.steps(rank, 0) = {copy(link(1 - rank), {scratch(0)})};
    made.steps(rank, 1) = {copy(input(0), {link(1 - rank)}), combine({input(0), scratch(0)}, {output(0)}, true)};
    made.step(rank, 1, 1).after.push_back({0, 0});
    made.step(rank, 0, 0).after.push_back({1, 0});
  }
  return made;
}

inline std::string text(const Proof& proof) {
  std::string all;
  for (const Violation& violation : proof.violations) all += to_string(violation) + "\n";
  return all;
}

/// Whether the first violation is this one.
inline bool first_is(const Proof& proof, Fault fault, std::int64_t rank, std::int64_t lane, std::int64_t step) {
  if (proof.violations.empty()) return false;
  const Violation& first = proof.violations.front();
  return first.fault == fault && first.rank == rank && first.lane == lane && first.step == step;
}

}  // namespace rondo::verifier_test

// All-gathers in which each block goes along a tree of its own, and reductions that come back along the same trees.
//
// Paths are one rank's: `arrivals()` lists the others' blocks in the order in which it gets them, `from(block)` is the rank that it gets one from, and
// `to(block)` are those to whom it passes one on, or gives its own, in order. What a round moves doesn't lie side by side, so each block travels in a
// message of its own, on the channel of its number, and goes to its place at once: nothing is packed, and nothing put in order at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {

/// Ranks that take a block from another one; of few blocks more than these.
using Takers = ShortList<std::uint32_t, 6>;

template <class Paths>
Operands takers(const Paths& paths, std::uint32_t block) {
  Operands links;
  for (const std::uint32_t rank : paths.to(block)) links.push_back(link(rank, block));
  return links;
}

inline Operands with(Operand first, Operands others) {
  others.insert(others.begin(), first);
  return others;
}

/// Each block is kept, and passed on, as it arrives.
template <class Paths>
void gather_along(const Paths& paths, LaneBuilder& lane) {
  for (const std::uint32_t block : paths.arrivals()) lane.copy(link(paths.from(block), block), with(output(block), takers(paths, block)));
}

/// What comes back of one block, and this rank's own contribution: those that took it last have least to wait for, so they come first.
template <class Paths>
void combine(const Paths& paths, std::uint32_t block, Operands destinations, bool finish, LaneBuilder& lane) {
  const Takers ranks = paths.to(block);
  Operands sources{input(block)};
  for (std::size_t k = ranks.size(); k-- > 0;) sources.push_back(link(ranks[k], block));
  if (sources.size() == 1)
    lane.copy(sources[0], std::move(destinations));
  else
    lane.reduce(std::move(sources), std::move(destinations), finish);
}

/// All but the own block: what would be gathered last goes back first, to whom it would come from. Sums pass from link to link, and are stored nowhere else.
template <class Paths>
void scatter_back(const Paths& paths, LaneBuilder& lane) {
  const std::vector<std::uint32_t> blocks = paths.arrivals();
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
    combine(paths, *block, {link(paths.from(*block), *block)}, false, lane);
}

/// Every rank sends each chunk but its own once a way. Of what comes back half is the own contribution alone: of the other sums each step reads one for each
/// rank that took the block.
inline Cost along_paths(const Terms& terms, Collective collective, double rounds_a_way) {
  const bool reduces = is_reduction(collective);
  const bool gathers = collective != Collective::reduce_scatter;
  const double others = terms.ranks - 1;
  const double moved = others * terms.chunk;
  const double summed = std::floor(others / 2) * terms.chunk;
  double moving = 0;
  if (reduces) moving += terms.publish(moved - summed) + terms.pull_from_all(moved) + terms.add(moved) + terms.share(summed);
  if (gathers) moving += terms.pull_from_all(moved) + terms.publish(moved);
  if (!reduces) moving += terms.keep(terms.chunk);  // its own block
  const double ways = reduces && gathers ? 2 : 1;
  const double rounds = ways * rounds_a_way;
  const double steps = ways * 4 * others * terms.pieces;  // a wait, what it waits for, a slot's credit and a signal for each block
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds, ways * 2 * moved};
}

}  // namespace rondo::planner

// A reduce-scatter by halving and an all-gather by doubling, over any pairing of 2^n members in n rounds in which whoever shares half a message with a
// partner shares it with the same others. Group says who meets whom: `partner(round)`, whether this member takes the upper half then (`is_upper(round)`),
// how many rounds there are, and whether it has begun with another's contribution in its output (`folded`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {

/// The chunks that a rank still works on.
struct Span {
  std::uint32_t first;
  std::uint32_t count;
};

/// In round k a rank keeps one half of its chunks, and gives the other away.
template <class Group>
Span halve(const Group& group, Span span, LaneBuilder& lane) {
  bool reduced = group.folded;
  for (std::uint32_t round = 0; round < group.rounds(); ++round) {
    const std::uint32_t half = span.count / 2;
    const bool upper = group.is_upper(round);
    const bool last = round + 1 == group.rounds();
    const std::uint32_t kept = span.first + (upper ? half : 0);
    const std::uint32_t given = span.first + (upper ? 0 : half);
    const auto current = [&](std::uint32_t chunk) { return reduced ? output(chunk, half) : input(chunk, half); };
    const Operand partner = link(group.partner(round), 0, half);
    lane.copy(current(given), {partner});
    Operands sources{current(kept), partner};
    if (upper) std::swap(sources[0], sources[1]);
    Operands destinations{output(kept, half)};
    if (last) destinations.push_back(partner);  // whom the all-gather begins with
    lane.reduce(std::move(sources), std::move(destinations), last);
    reduced = true;
    span = {kept, half};
  }
  return span;
}

/// The same rounds backwards: partners swap all they have.
template <class Group>
void regather(const Group& group, Span span, LaneBuilder& lane) {
  for (std::uint32_t round = group.rounds(); round-- > 0;) {
    const Operand partner = link(group.partner(round), 0, span.count);
    if (round + 1 != group.rounds()) lane.copy(output(span.first, span.count), {partner});
    const std::uint32_t theirs = group.is_upper(round) ? span.first - span.count : span.first + span.count;
    lane.copy(partner, {output(theirs, span.count)});
    span = {std::min(span.first, theirs), 2 * span.count};
  }
}

/// Both halves of an all-reduce. `folds`: others hand their contributions to members first, and get the result from them.
inline Cost cost_of_halving(const Terms& terms, std::uint32_t members, bool folds) {
  const double rounds = 2.0 * log2_floor(members) + (folds ? 2 : 0);
  const double half = (members - 1) * terms.chunk;
  double moving = terms.publish(2 * half - terms.chunk) + terms.share(terms.chunk) + terms.pull_and_add(half) + terms.pull(half);
  if (folds) moving += terms.publish(2 * terms.block) + terms.pull_and_add(terms.block) + terms.pull(terms.block);
  const double steps = 6 * rounds * terms.pieces + 2.0 * members * terms.pieces;  // a step runs once for each chunk
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds, 4 * half + (folds ? 4 * terms.block : 0)};
}

}  // namespace rondo::planner

// Halving and doubling: a reduce-scatter by recursive halving, an all-gather by recursive doubling (Rabenseifner,
// 2004). The nearest ranks exchange first: that is when most is moved, and it combines contributions along the binary
// tree of ranks.
#include "planner/folded_group.hpp"
#include "planner/steps.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t piece_bytes = 64u << 10;

/// The chunks that a rank still works on.
struct Span {
  std::uint32_t first;
  std::uint32_t count;
};

/// In round k a rank keeps the half of its chunks that bit k of its number says, and gives the other away.
Span halve(const FoldedGroup& group, Span span, LaneBuilder& lane) {
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
    std::vector<Operand> sources{current(kept), partner};
    if (upper) std::swap(sources[0], sources[1]);
    std::vector<Operand> destinations{output(kept, half)};
    if (last) destinations.push_back(partner);  // whom the all-gather begins with
    lane.reduce(std::move(sources), std::move(destinations), last);
    reduced = true;
    span = {kept, half};
  }
  return span;
}

void gather(const FoldedGroup& group, Span span, LaneBuilder& lane) {
  for (std::uint32_t round = group.rounds(); round-- > 0;) {
    const Operand partner = link(group.partner(round), 0, span.count);
    if (round + 1 != group.rounds()) lane.copy(output(span.first, span.count), {partner});
    const std::uint32_t theirs = group.is_upper(round) ? span.first - span.count : span.first + span.count;
    lane.copy(partner, {output(theirs, span.count)});
    span = {std::min(span.first, theirs), 2 * span.count};
  }
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const FoldedGroup group(header.ranks, rank);
  const std::uint32_t all = group.members;
  LaneBuilder lane;
  if (group.out) {
    lane.copy(input(0, all), {link(rank - 1, 0, all)});
    lane.copy(link(rank - 1, 0, all), {output(0, all)});
    return lane.take_program();
  }
  if (group.folded) lane.reduce({input(0, all), link(rank + 1, 0, all)}, {output(0, all)}, false);
  gather(group, halve(group, {0, all}, lane), lane);
  if (group.folded) lane.copy(output(0, all), {link(rank + 1, 0, all)});
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  return request.collective == Collective::all_reduce ? std::string_view() : other_collective;
}

Shape shape(const Request& request, const CostModel&, const PlanLimits&) {
  const std::uint32_t members = power_of_two_below(request.ranks);
  const std::uint32_t folded = members == request.ranks ? 0 : members;
  return {Protocol::staged, true, members, 0, 2 * (members - 1) + folded, 2, piece_bytes};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const std::uint32_t members = power_of_two_below(request.ranks);
  const bool folds = members != request.ranks;
  const double rounds = 2.0 * log2_floor(members) + (folds ? 2 : 0);
  const double half = (members - 1) * terms.chunk;
  double moving =
      terms.publish(2 * half - terms.chunk) + terms.share(terms.chunk) + terms.pull_and_add(half) + terms.pull(half);
  if (folds) moving += terms.publish(2 * terms.block) + terms.pull_and_add(terms.block) + terms.pull(terms.block);
  const double steps = 6 * rounds * terms.pieces + 2.0 * members * terms.pieces;  // a step runs once for each chunk
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds,
          4 * half + (folds ? 4 * terms.block : 0)};
}

std::string_view departure(const Request&, const CostModel&) {
  return "it combines distant ranks first, not along the one tree";
}

}  // namespace

const Algorithm halving_doubling_algorithm{"halving_doubling", false, objection, shape, predict, program, false, departure};

}  // namespace rondo::planner

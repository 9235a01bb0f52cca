// Rail: ranks of a group (a box) and, across groups, those in the same place of theirs (a rail). A reduction's share of the work is dealt out inside the
// group, and each share goes round a ring along its rail, so that each byte crosses between groups as seldom as it can, over all rails at once (BlueConnect:
// Cho, Finkler, Kung, Hunter, "BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous Network Hierarchy", MLSys 2019). What is gathered
// runs the other way.
//
// The levels aren't done one after the other: a step of the ring combines what the fellows of the group send for it, and while it travels they send for
// the next; what arrives of a gathered share is passed on along the rail and to the fellows at once. So nothing is stored between the levels.
#include "planner/rails.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t to_combine = 0;  ///< channels: those along the rail, and from the fellows of the group
constexpr std::uint32_t combined = 1;    ///< from the fellows

/// One rank in its group and its rail. Chunks are named by the rank whose share they are.
class Place {
 public:
  Place(const PlanHeader& header, std::uint32_t rank) : place_(header, rank) {}

  std::uint32_t group() const { return place_.group; }
  std::uint32_t groups() const { return place_.groups; }

  /// The rank `steps` groups ahead in the seat that lies `seats` behind the own one; steps from −2·groups.
  std::uint32_t at(std::int64_t steps, std::uint32_t seats = 0) const {
    const auto groups = static_cast<std::int64_t>(place_.groups);
    const auto number = static_cast<std::uint32_t>((place_.number + steps + 2 * groups) % groups);
    return place_.rank_of(number, (place_.seat + seats) % place_.group);
  }
  Operand next() const { return link(at(1), to_combine); }
  Operand previous() const { return link(at(-1), to_combine); }
  Operand fellow(std::uint32_t seats, std::uint32_t channel) const { return link(at(0, seats), channel); }

 private:
  const RailPlace place_;
};

/// A finished share: kept, and handed to the fellows and, but for the last, along the rail.
Operands handed_on(const Place& place, std::uint32_t chunk, bool along_rail) {
  Operands destinations{output(chunk)};
  if (along_rail) destinations.push_back(place.next());
  for (std::uint32_t seats = 1; seats < place.group(); ++seats) destinations.push_back(place.fellow(seats, combined));
  return destinations;
}

/// Share s of the ring is that of the group s + shift places back: in the end one has the own share with shift 1, with shift 0 that of the group ahead.
void reduce_scatter(const PlanHeader& header, const Place& place, std::uint32_t shift, LaneBuilder& lane) {
  const std::uint32_t last = place.groups() - 1;
  for (std::uint32_t s = 0; s <= last + 1; ++s) {
    const auto back = [&](std::uint32_t step) { return -static_cast<std::int64_t>(step + shift); };
    for (std::uint32_t seats = 1; s <= last && seats < place.group(); ++seats)
      lane.copy(input(place.at(back(s), seats)), {place.fellow(seats, to_combine)});
    if (s == 0) continue;
    const std::uint32_t chunk = place.at(back(s - 1));
    Operands sources;
    if (s > 1) sources.push_back(place.previous());
    for (std::uint32_t seats = place.group() - 1; seats > 0; --seats) sources.push_back(place.fellow(seats, to_combine));
    sources.push_back(input(chunk));
    const bool done = s - 1 == last;
    if (!done) lane.reduce(std::move(sources), {place.next()}, false);
    else if (header.collective == Collective::reduce_scatter) lane.reduce(std::move(sources), {output(0)}, true);
    else lane.reduce(std::move(sources), handed_on(place, chunk, true), true);
  }
}

/// Share s that comes along the rail is that of the group s places back from `first`; number 0 is there already.
void all_gather(const Place& place, std::int64_t first, LaneBuilder& lane) {
  for (std::uint32_t s = 1; s <= place.groups(); ++s) {
    if (s < place.groups()) lane.copy(place.previous(), handed_on(place, place.at(first - s), s + 1 < place.groups()));
    for (std::uint32_t seats = place.group() - 1; seats > 0; --seats)
      lane.copy(place.fellow(seats, combined), {output(place.at(first - (s - 1), seats))});
  }
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  const Place place(header, rank);
  LaneBuilder lane;
  lane.reserve(4 * std::size_t{header.ranks});
  switch (header.collective) {
    case Collective::all_gather:
      lane.copy(input(0), handed_on(place, rank, true));
      all_gather(place, 0, lane);
      break;
    case Collective::reduce_scatter:
      reduce_scatter(header, place, 1, lane);
      break;
    default:
      reduce_scatter(header, place, 0, lane);
      all_gather(place, 1, lane);
      break;
  }
  return lane.take_program();
}

std::string_view objection(const Request& request, const CostModel& cost, const PlanLimits&) {
  if (request.collective != Collective::all_reduce && request.collective != Collective::reduce_scatter && request.collective != Collective::all_gather)
    return other_collective;
  return no_rails(cost);
}

Shape shape_of(const Request& request, const PlanLimits& limits, std::uint32_t group) {
  const bool reduces = is_reduction(request.collective);
  const bool gathers = request.collective != Collective::reduce_scatter;
  const std::uint32_t ways = reduces && gathers ? 2 : 1;
  constexpr std::uint32_t depth = 2;  // slots of a channel to a fellow, which takes a message from each group, and along the rail
  const std::uint32_t along = std::min(depth, ways * (request.ranks / group - 1));
  return {Protocol::staged, true, ways == 2 ? request.ranks : 1, 0, ways * depth * (group - 1) + along, depth, longest_piece(limits)};
}

/// A ring along the rail, whose every step takes a chunk from each fellow, too.
Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  const double group = group_of(cost, shape), groups = terms.ranks / group;
  const double inside = (group - 1) * groups * terms.chunk, along = (groups - 1) * terms.chunk;
  const bool reduces = is_reduction(request.collective);
  const bool gathers = request.collective != Collective::reduce_scatter;
  double moving = 0, steps = 0, ways = 0;
  if (reduces) {
    moving += terms.publish(inside) + terms.pull_among(inside, 1, group) + terms.pull(along) + terms.add(inside + along) + terms.share(along);
    steps += 4 * group * groups;
    ++ways;
  }
  if (gathers) {
    moving += terms.pull(along) + terms.pull_among(inside, 1, group) + terms.publish(inside + along);
    if (!reduces) moving += terms.keep(terms.chunk);
    steps += 4 * group * groups;
    ++ways;
  }
  const double rounds = ways * groups;  // one of them in the group
  const double waits = ways * terms.pieces * ((groups - 1) * terms.message_ns() + (terms.crowded() ? terms.message_ns() : terms.latency_within(group)));
  return {waits, terms.work_ns(moving, steps * terms.pieces), rounds, ways * 2 * (inside + along)};
}

Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  return cheapest_groups(request, cost, limits, [&](std::uint32_t group) { return shape_of(request, limits, group); }, predict);
}

std::string_view departure(const Request&, const CostModel&) { return "it combines along its rails' rings, not along the one tree"; }

}  // namespace

const Algorithm rail_algorithm{.name = "rail",
                               .needs_mapped = false,
                               .objection = objection,
                               .shape = shape,
                               .predict = predict,
                               .program = program,
                               .order = Order::places,
                               .departure = departure,
                               .narrows = true,
                               .chosen = Chosen::between_hosts};

}  // namespace rondo::planner

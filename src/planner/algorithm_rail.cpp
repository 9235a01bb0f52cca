// Rail: ranks of a group (a box) and, across groups, those in the same place of theirs (a rail). A reduction's share of the work is dealt out inside the
// group, and each share goes round a ring along its rail, so that each byte crosses between groups as seldom as it can, over all rails at once (BlueConnect:
// Cho, Finkler, Kung, Hunter, "BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous Network Hierarchy", MLSys 2019). What is gathered
// runs the other way.
//
// The levels aren't done one after the other: a step of the ring combines what the fellows of the group send for it, and while it travels they send for
// the next; what arrives of a gathered share is passed on along the rail and to the fellows at once. So nothing is stored between the levels.
#include <algorithm>
#include <set>

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

constexpr std::uint32_t to_combine = 0;  ///< channels: those along the rail, and from the fellows of the group
constexpr std::uint32_t combined = 1;    ///< from the fellows
constexpr std::uint32_t largest_group = 64;

/// One rank in its group and its rail. Chunks are named by the rank whose share they are.
class Place {
 public:
  Place(const PlanHeader& header, std::uint32_t rank) : header_(header), group_(header.groups.front()), groups_(header.ranks / group_) {
    const std::uint32_t position = position_of(header, rank);
    number_ = position / group_;
    seat_ = position % group_;
  }

  std::uint32_t group() const { return group_; }    ///< ranks of one
  std::uint32_t groups() const { return groups_; }  ///< how many: the ranks of a rail

  /// The rank `steps` groups ahead in the seat that lies `seats` behind the own one; steps from −2·groups.
  std::uint32_t at(std::int64_t steps, std::uint32_t seats = 0) const {
    const auto groups = static_cast<std::int64_t>(groups_);
    const auto number = static_cast<std::uint32_t>((number_ + steps + 2 * groups) % groups);
    return rank_at(header_, number * group_ + (seat_ + seats) % group_);
  }
  Operand next() const { return link(at(1), to_combine); }
  Operand previous() const { return link(at(-1), to_combine); }
  Operand fellow(std::uint32_t seats, std::uint32_t channel) const { return link(at(0, seats), channel); }

 private:
  const PlanHeader& header_;
  const std::uint32_t group_, groups_;
  std::uint32_t number_ = 0, seat_ = 0;
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

/// Where ranks are on several hosts these are the groups: what crosses between smaller ones is no network.
bool serves(const Level& level, const Network& network) {
  const std::set<std::uint32_t> hosts(network.hosts.begin(), network.hosts.end());
  return level.ranks <= largest_group && (hosts.empty() || level.ranks * hosts.size() == network.hosts.size());
}

std::string_view objection(const Request& request, const CostModel& cost, const PlanLimits&) {
  if (request.collective != Collective::all_reduce && request.collective != Collective::reduce_scatter && request.collective != Collective::all_gather)
    return other_collective;
  if (cost.levels.empty()) return "no cache, memory, socket or host parts the ranks into equal groups";
  const bool any = std::any_of(cost.levels.begin(), cost.levels.end(), [&](const Level& level) { return serves(level, cost.network); });
  return any ? std::string_view() : "no group of the machine's has 64 ranks or less, or hosts have unlike numbers of ranks";
}

Shape shape_of(const Request& request, const PlanLimits& limits, std::uint32_t group, std::size_t level) {
  const bool reduces = is_reduction(request.collective);
  const bool gathers = request.collective != Collective::reduce_scatter;
  const std::uint32_t ways = reduces && gathers ? 2 : 1;
  constexpr std::uint32_t depth = 2;  // slots of a channel to a fellow, which takes a message from each group, and along the rail
  const std::uint32_t along = std::min(depth, ways * (request.ranks / group - 1));
  Shape shape{Protocol::staged, true, ways == 2 ? request.ranks : 1, 0, ways * depth * (group - 1) + along, depth, longest_piece(limits)};
  shape.levels = 1u << level;
  return shape;
}

double group_of(const CostModel& cost, const Shape& shape) { return cost.levels[static_cast<std::size_t>(std::countr_zero(shape.levels))].ranks; }

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
    if (!reduces) moving += terms.copy(terms.chunk);
    steps += 4 * group * groups;
    ++ways;
  }
  const double rounds = ways * groups;  // one of them in the group
  const double waits = ways * terms.pieces * ((groups - 1) * terms.message_ns() + (terms.crowded() ? terms.message_ns() : terms.latency_within(group)));
  return {waits, terms.work_ns(moving, steps * terms.pieces), rounds, ways * 2 * (inside + along)};
}

/// The groups whose plan costs least.
Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  Shape best;
  double least = 0;
  for (std::size_t level = 0; level < cost.levels.size(); ++level) {
    if (!serves(cost.levels[level], cost.network)) continue;
    const Shape made = shape_of(request, limits, cost.levels[level].ranks, level);
    const double total = predict(request, cost, limits, made).total_ns();
    if (best.levels != 0 && total >= least) continue;
    best = made;
    least = total;
  }
  return best;
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

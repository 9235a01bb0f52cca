// Ring: each rank talks to its two neighbours only. All-reduce is a reduce-scatter followed by an all-gather (Patarasuk
// and Yuan, 2009); broadcast and reduce run along the ring as a chain, piece by piece. Rings: several at once, each with its part of every block, in both
// directions or along wires of their own; each is a channel, and a lane.

#include "planner/steps.hpp"
#include "planner/terms.hpp"

namespace rondo::planner {
namespace {

std::uint32_t channels(const PlanHeader& header) { return header.order.empty() ? 1 : static_cast<std::uint32_t>(header.order.size() / header.ranks); }

/// One channel's ring as one rank sees it. Blocks and chunks are named by the rank they belong to.
class Place {
 public:
  Place(const PlanHeader& header, std::uint32_t rank, std::uint32_t channel) : header_(header), channel_(channel), position_(rank) {
    if (header.order.empty()) return;
    order_ = header.order.data() + std::size_t{channel} * header.ranks;
    position_ = static_cast<std::uint32_t>(std::find(order_, order_ + header.ranks, rank) - order_);
  }
  /// The rank `steps` places ahead; steps up to 2·ranks, negative ones down to −2·ranks.
  std::uint32_t ahead(std::int64_t steps) const {
    const auto ranks = static_cast<std::int64_t>(header_.ranks);
    const auto position = static_cast<std::uint32_t>((position_ + steps + 2 * ranks) % ranks);
    return order_ == nullptr ? position : order_[position];
  }
  Operand next() const { return link(ahead(1), channel_); }
  Operand previous() const { return link(ahead(-1), channel_); }

  /// This channel's part of what belongs to a rank: chunk of a block of all ranks', or of the rank's block.
  std::uint32_t chunk_of(std::uint32_t rank) const {
    return header_.collective == Collective::all_reduce ? channel_ * header_.ranks + rank : rank * channels(header_) + channel_;
  }
  /// Of a block that belongs to nobody else.
  std::uint32_t chunk() const { return channel_; }

 private:
  const PlanHeader& header_;
  const std::uint32_t channel_;
  std::uint32_t position_;
  const std::uint32_t* order_ = nullptr;
};

/// Rank `ahead(1)` ends up with the reduction of its chunk... and so, one place earlier each step, this rank with its
/// own when `shift` is 1; with shift 0 it ends with the chunk of the rank ahead of it, which all-reduce goes on with.
void reduce_scatter(const PlanHeader& header, const Place& place, std::uint32_t shift, LaneBuilder& lane) {
  const auto last = static_cast<std::int64_t>(header.ranks) - 1;
  lane.copy(input(place.chunk_of(place.ahead(-static_cast<std::int64_t>(shift)))), {place.next()});
  for (std::int64_t s = 1; s <= last; ++s) {
    const std::uint32_t chunk = place.chunk_of(place.ahead(-s - shift));
    Operands destinations;
    if (s < last)
      destinations = {place.next()};
    else if (header.collective == Collective::reduce_scatter)
      destinations = {output(place.chunk())};
    else
      destinations = {output(chunk), place.next()};
    lane.reduce({place.previous(), input(chunk)}, std::move(destinations), s == last);
  }
}

/// Passes on what arrives, the chunk of ahead(first) first, and keeps a copy.
void all_gather(const PlanHeader& header, const Place& place, std::int64_t first, LaneBuilder& lane) {
  for (std::uint32_t s = 1; s < header.ranks; ++s) {
    Operands destinations{output(place.chunk_of(place.ahead(first - (s - 1))))};
    if (s + 1 < header.ranks) destinations.push_back(place.next());
    lane.copy(place.previous(), std::move(destinations));
  }
}

/// From the root onwards round the ring, up to the rank behind the root.
void broadcast(const PlanHeader& header, std::uint32_t rank, const Place& place, LaneBuilder& lane) {
  const std::uint32_t root = root_of(header);
  Operands destinations;
  if (place.ahead(1) != root) destinations.push_back(place.next());
  if (has_output(header, rank)) destinations.push_back(output(place.chunk()));
  lane.copy(rank == root ? input(place.chunk()) : place.previous(), std::move(destinations));
}

/// From the rank behind the root's place onwards, to the root.
void reduce(const PlanHeader& header, std::uint32_t rank, const Place& place, LaneBuilder& lane) {
  if (place.ahead(-1) == header.root)
    lane.copy(input(place.chunk()), {place.next()});
  else if (rank == header.root)
    lane.reduce({place.previous(), input(place.chunk())}, {output(place.chunk())}, true);
  else
    lane.reduce({place.previous(), input(place.chunk())}, {place.next()}, false);
}

/// Along the ranks' own numbers. What goes on isn't finished, what stays is.
void scan(const PlanHeader& header, std::uint32_t rank, LaneBuilder& lane) {
  Operands destinations{output(0)};
  if (rank + 1 < header.ranks) destinations.push_back(link(rank + 1));
  if (rank == 0)
    lane.copy(input(0), std::move(destinations));
  else
    lane.reduce({link(rank - 1), input(0)}, std::move(destinations), false);
  lane.copy(output(0), {output(0)}, true);
}

Lane lane_of(const PlanHeader& header, std::uint32_t rank, std::uint32_t channel) {
  const Place place(header, rank, channel);
  LaneBuilder lane;
  switch (header.collective) {
    case Collective::all_reduce:
      lane.reserve(2 * std::size_t{header.ranks});
      reduce_scatter(header, place, 0, lane);
      all_gather(header, place, 0, lane);
      break;
    case Collective::reduce_scatter:
      reduce_scatter(header, place, 1, lane);
      break;
    case Collective::all_gather:
      lane.copy(input(place.chunk()), {output(place.chunk_of(rank)), place.next()});
      all_gather(header, place, -1, lane);
      break;
    case Collective::reduce:
      reduce(header, rank, place, lane);
      break;
    case Collective::scan:
      scan(header, rank, lane);
      break;
    default:
      broadcast(header, rank, place, lane);
      break;
  }
  return lane.take();
}

Program program(const PlanHeader& header, std::uint32_t rank) {
  Program program;
  for (std::uint32_t channel = 0; channel < channels(header); ++channel) program.lanes.push_back(lane_of(header, rank, channel));
  return program;
}

std::string_view objection(const Request& request, const CostModel&, const PlanLimits&) {
  switch (request.collective) {
    case Collective::all_to_all:
    case Collective::all_to_all_v:
    case Collective::gather:
    case Collective::scatter:
    case Collective::barrier:
      return other_collective;
    default:
      return {};
  }
}

std::string_view objection_to_several(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  if (request.collective == Collective::scan || request.collective == Collective::send_recv) return other_collective;
  return objection(request, cost, limits);
}

bool is_chain(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::scan ||
         collective == Collective::send_recv;
}

/// Messages that one body sends to the next rank.
std::uint32_t messages(const Request& request) {
  if (is_chain(request.collective)) return 1;
  return request.collective == Collective::all_reduce ? 2 * (request.ranks - 1) : request.ranks - 1;
}

/// A chain of p ranks and k pieces takes p − 2 + k turns: the best piece balances a turn's fixed cost with filling the
/// chain.
std::uint32_t chain_piece(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  const double per_byte = cost.pull_ns_per_byte + cost.publish_ns_per_byte;
  const double turn = timely_signal * cost.latency_ns + 5 * cost.core.step_ns;
  return balanced_piece(static_cast<double>(block_bytes(request)), turn, per_byte * (request.ranks - 2), 4096, longest_piece(limits));
}

Shape shape_of(const Request& request, const CostModel& cost, const PlanLimits& limits, std::uint32_t channels) {
  const bool chain = is_chain(request.collective);
  const std::uint32_t depth = chain ? 4 : 2;
  const std::uint32_t chunks = request.collective == Collective::all_reduce ? request.ranks : 1;
  return {Protocol::staged,
          true,
          channels * chunks,
          0,
          channels * std::min(messages(request), depth),
          depth,
          chain ? chain_piece(request, cost, limits) : longest_piece(limits)};
}

Shape shape(const Request& request, const CostModel& cost, const PlanLimits& limits) { return shape_of(request, cost, limits, 1); }

Shape shape_of_several(const Request& request, const CostModel& cost, const PlanLimits& limits) {
  return shape_of(request, cost, limits, number_of_rings(cost, request.ranks));
}

Cost predict_chain(const Terms& terms, bool reduces) {
  const double turns = terms.ranks - 2 + terms.pieces;
  const double taken = reduces ? terms.pull_and_add(terms.piece) : terms.pull(terms.piece);
  const double passed_on = reduces ? terms.share(terms.piece) : terms.publish(terms.piece);
  const double given = terms.publish(terms.piece) + (reduces ? 0 : terms.keep(terms.piece));
  // Where nobody is in the middle, both ends work at the same time.
  const double piece = terms.ranks > 2 ? taken + passed_on : terms.lopsided(std::max(taken, given), taken + given);
  const double hops = terms.ranks - 1;
  const double waits =
      terms.crowded() ? turns * terms.passed_on_ns() : hops * terms.message_ns() + (terms.pieces - 1) * terms.timely_ns();
  // Of a turn's work the first pieces' is filling the chain: no processor is busy with anything else meanwhile.
  const double fill = terms.crowded() ? 0 : given + (hops - 1) * piece;
  return {waits, terms.work_ns(piece * terms.pieces + fill, 6 * turns), hops, 2 * terms.block};
}

Cost predict(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  const Terms terms(request, cost, limits, shape);
  if (is_chain(request.collective)) return predict_chain(terms, is_reduction(request.collective));
  const double hops = terms.ranks - 1;
  const double half = hops * terms.chunk;
  const bool reduces = is_reduction(request.collective);
  const bool gathers = request.collective != Collective::reduce_scatter;
  const double rounds = reduces && gathers ? 2 * hops : hops;
  double moving = 0;
  const double shared = gathers ? half : half - terms.chunk;  // the last sum of a reduce-scatter stays here
  if (reduces) moving += terms.publish(terms.chunk) + terms.pull_and_add(half) + terms.share(shared);
  if (gathers) moving += terms.pull(half) + terms.publish(half - terms.chunk);
  if (!reduces) moving += terms.publish(terms.chunk) + terms.keep(terms.chunk);  // its own block
  const double steps = (2 + 4 * rounds) * terms.pieces;
  return {terms.message_ns() * rounds * terms.pieces, terms.work_ns(moving, steps), rounds, 2 * (rounds / hops) * half};
}

/// As one ring that moves as much: a rank goes through its channels by turns. Each has pieces of its own, whose signals come in time (along a chain together).
Cost predict_several(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape) {
  Shape one = shape;
  one.chunks_per_block = request.collective == Collective::all_reduce ? request.ranks : 1;
  const Terms together(request, cost, limits, one), each(request, cost, limits, shape);
  const double more = shape.chunks_per_block / one.chunks_per_block * each.pieces - together.pieces;
  Cost total = predict(request, cost, limits, one);
  total.work_ns += more * (2 + 4 * total.rounds) * cost.core.step_ns / cost.cores_per_rank;
  if (!together.crowded() && !is_chain(request.collective)) total.wait_ns += more * total.rounds * together.timely_ns();
  return total;
}

std::string_view departure(const Request&, const CostModel&) {
  return "it combines along the ring, not along the one tree";
}

}  // namespace

std::uint32_t number_of_rings(const CostModel& cost, std::uint32_t ranks) {
  return cost.rings.empty() ? std::max(2u, cost.network.interfaces.count) : static_cast<std::uint32_t>(cost.rings.size() / ranks);
}

const Algorithm ring_algorithm{"ring", false, objection, shape, predict, program, Order::ring, departure, true};
const Algorithm rings_algorithm{.name = "rings",
                                .needs_mapped = false,
                                .objection = objection_to_several,
                                .shape = shape_of_several,
                                .predict = predict_several,
                                .program = program,
                                .order = Order::rings,
                                .departure = departure,
                                .narrows = true,
                                .chosen = Chosen::by_interfaces};

}  // namespace rondo::planner

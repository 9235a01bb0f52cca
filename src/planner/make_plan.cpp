// The choice: every algorithm that can serve a request is priced, the cheapest becomes the plan.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "plan/ring.hpp"
#include "planner/algorithm.hpp"
#include "planner/crossing.hpp"
#include "planner/terms.hpp"

namespace rondo {
namespace {

using namespace planner;

Error wrong(const std::string& detail) {
  return Error{Errc::invalid_argument, detail, 0, "make_plan"};
}

bool sums(ReduceOp op) { return op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::premul_sum; }
bool is_wire(DataType type) { return type == DataType::f16 || type == DataType::bf16; }

Result<void> check(const Request& request) {
  const std::string name(to_string(request.collective));
  if (static_cast<std::size_t>(request.collective) >= collective_count)
    return wrong("the collective is none of those known");
  if (request.ranks == 0) return wrong("0 ranks; expected 1 or more");
  if (request.collective == Collective::send_recv && request.ranks != 2)
    return wrong("send_recv has 2 ranks, not " + std::to_string(request.ranks));
  if (is_rooted(request.collective) && request.root >= request.ranks)
    return wrong("root " + std::to_string(request.root) + " of " + std::to_string(request.ranks) +
                 " ranks; expected less");
  if (is_reduction(request.collective) && !is_defined(request.op, request.type))
    return wrong(std::string(to_string(request.op)) + " is not defined on " + std::string(to_string(request.type)));
  if (is_reduction(request.collective) && !is_defined(request.op, request.collective))
    return wrong(std::string(to_string(request.op)) + " is not defined for " + name);
  if (request.wire && (request.collective != Collective::all_reduce || request.type != DataType::f32 || !sums(request.op) || !is_wire(*request.wire)))
    return wrong("a wire of " + std::string(to_string(*request.wire)) + " for " + name + " of " + std::string(to_string(request.type)) + " by " +
                 std::string(to_string(request.op)) + "; expected f16 or bf16, for all_reduce of f32 by sum, avg or premul_sum");
  const BlockCounts blocks = block_counts(request.collective, request.ranks);
  const std::uint64_t largest =
      (std::uint64_t{1} << 62) / size_of(request.type) / std::max(blocks.input, blocks.output);
  if (request.count > largest)
    return wrong("count " + std::to_string(request.count) + " for " + name + "; expected at most " +
                 std::to_string(largest));
  return {};
}

/// One algorithm's answer to a request.
struct Offer {
  const Algorithm* algorithm = nullptr;
  std::string_view objection;  ///< empty: it can serve
  Shape shape;
  Cost cost;      ///< of a call that may be in place or not: what decides
  Cost expected;  ///< of one that is as the request says
  bool eligible = false;  ///< unasked
};

/// In memory a result is rounded where its owner has it, once. Along links partial sums are rounded, too.
bool narrows(const Algorithm& algorithm, const PlanLimits& limits) {
  return algorithm.narrows && algorithm.needs_mapped == (limits.reach == Reach::memory);
}

Offer offer(const Algorithm& algorithm, const CostModel& cost, const PlanLimits& limits, const Request& request) {
  Offer offer{&algorithm, {}, {}, {}, {}, false};
  const bool alone = &algorithm == &copy_algorithm;
  if (request.ranks == 1 && !alone)
    offer.objection = "there is one rank";
  else if (algorithm.needs_mapped && limits.reach != Reach::memory)
    offer.objection = "ranks can't read one another's memory";
  else if (request.wire && !narrows(algorithm, limits) && !alone)
    offer.objection = "it has no form for a wire type";
  else if (request.wire && request.ranks > 64)
    offer.objection = "a wire type is served among 64 ranks at most";
  else
    offer.objection = algorithm.objection(request, cost, limits);
  if (offer.objection.empty() && request.strict && is_reduction(request.collective) && algorithm.departure != nullptr)
    offer.objection = algorithm.departure(request, cost);
  if (!offer.objection.empty()) return offer;
  Request any = request;  // ranks of one call may differ in it, and must choose alike; nobody knows what callers do with their buffers
  any.alias = Alias::any;
  any.rewritten.reset();
  offer.shape = algorithm.shape(any, cost, limits);
  if (piece_limit(offer.shape, limits) == 0) {
    offer.objection = "its slots don't fit in the staging memory";
    return offer;
  }
  offer.cost = algorithm.predict(any, cost, limits, offer.shape);
  offer.expected = request.alias == Alias::any && !request.rewritten ? offer.cost : algorithm.predict(request, cost, limits, offer.shape);
  return offer;
}

/// Slots of each scratch chunk: what the shape asks for, or, where a call has more pieces, as many as a ring has (0004-slot-protocol.md), so that
/// nobody waits for a slot while there are others.
std::uint32_t depth_of(const CostModel& cost, const PlanLimits& limits, const Request& request, const Shape& shape) {
  constexpr double deepest = 64;
  if (shape.protocol != Protocol::staged || shape.lowered_chunks == 0 || limits.reach != Reach::memory) return shape.depth;
  const Terms terms(request, cost, limits, shape);
  if (terms.pieces <= shape.depth) return shape.depth;
  const double ring = static_cast<double>(std::min(ring_bytes_of(request.collective, cost.ring_bytes), limits.staging_bytes));
  const double slots = ring / (terms.piece * terms.in_scratch * shape.lowered_chunks);
  return std::max(shape.depth, static_cast<std::uint32_t>(std::min({slots, terms.pieces, deepest})));
}

/// The ranks' order, or orders.
std::vector<std::uint32_t> order_of(Order order, const Topology& topology, const CostModel& cost, const Request& request) {
  const std::uint32_t ranks = request.ranks;
  if (order == Order::none) return {};
  if (order == Order::trees) return tree_order(topology, request);
  if (order == Order::rings && !cost.rings.empty()) return cost.rings;
  if (order == Order::ring && !cost.rings.empty()) return {cost.rings.begin(), cost.rings.begin() + ranks};
  std::vector<std::uint32_t> orders = rank_order(topology, ranks);
  if (order != Order::rings) return orders;
  if (orders.empty())
    for (std::uint32_t rank = 0; rank < ranks; ++rank) orders.push_back(rank);
  // By interfaces all go the same way round, so that a rank sends to one other and not to two by turns; else every other one goes backwards.
  const bool backwards = cost.network.interfaces.count == 1;
  for (std::uint32_t ring = 1; ring < number_of_rings(cost, ranks); ++ring)
    for (std::uint32_t k = 0; k < ranks; ++k) orders.push_back(orders[backwards && ring % 2 != 0 ? ranks - 1 - k : k]);
  return orders;
}

PlanHeader header_of(const Topology& topology, const CostModel& cost, const PlanLimits& limits, const Request& request, const Offer& chosen) {
  PlanHeader header;
  header.algorithm = chosen.algorithm->name;
  header.collective = request.collective;
  header.protocol = chosen.shape.protocol;
  header.ranks = request.ranks;
  header.root = is_rooted(request.collective) ? request.root : 0;
  header.chunks_per_block = chosen.shape.chunks_per_block;
  header.scratch_chunks = chosen.shape.scratch_chunks;
  header.depth = depth_of(cost, limits, request, chosen.shape);
  header.piece_bytes = chosen.shape.piece_bytes;
  header.neutral = chosen.shape.neutral;
  if (chosen.algorithm->narrows) header.wire = request.wire;
  for (std::size_t k = 0; k < cost.levels.size(); ++k)
    if ((chosen.shape.levels >> k & 1) != 0) header.groups.push_back(cost.levels[k].ranks);
  // all_to_all_v: no block lies where another one of its length does
  header.in_place = request.collective != Collective::all_to_all_v && chosen.shape.in_place;
  if (request.collective != Collective::scan) header.order = order_of(chosen.algorithm->order, topology, cost, request);
  return header;
}

/// While bytes travel between hosts ranks work, and the other way round: the longer of the two counts.
void price_network(const Topology& topology, const CostModel& cost, const PlanLimits& limits, const Request& request, Offer& made) {
  const PlanHeader header = header_of(topology, cost, limits, request, made);
  constexpr double burst = 2;  // measured: what a connection takes that was idle, under BBR (docs/design/0021-hosts.md)
  const Crossing crossing = crossing_of(header, made.algorithm->program, request, cost.network);
  const double crossing_ns = crossing.bytes * cost.network.ns_per_byte * (crossing.bursts ? burst : 1);
  for (Cost* price : {&made.cost, &made.expected}) {
    price->crossed = crossing.bytes;
    price->work_ns = std::max(price->work_ns, crossing_ns);
  }
}

constexpr std::size_t most_algorithms = 32;

/// Predictions aren't so good that less than this decides: the earlier algorithm of the table is taken then.
constexpr double worth_it = 1.03;
/// They are less good where the network is most of it, since what the kernel does for a message isn't in them: if hosts have several interfaces, of those
/// that differ by less than this the ones are taken that send least by the busiest one, or hardly more.
constexpr double worth_it_by_network = 1.1;
constexpr double hardly_more = 1.1;
constexpr double most_of_it = 0.5;

/// All algorithms' offers, in the table's order.
struct Offers {
  std::array<Offer, most_algorithms> all;
  std::size_t count = 0;
  const Offer* chosen = nullptr;

  std::span<Offer> made() { return {all.data(), count}; }
  std::span<const Offer> made() const { return {all.data(), count}; }
};

bool serves_unasked(const Offer& offer, const CostModel& cost, const PlanLimits& limits) {
  if (!offer.objection.empty()) return false;
  switch (offer.algorithm->chosen) {
    case Chosen::anywhere: return true;
    case Chosen::between_hosts: return limits.reach == Reach::hosts;
    case Chosen::by_interfaces: return limits.reach != Reach::memory && cost.network.interfaces.count > 1;
    case Chosen::by_name: break;
  }
  return false;
}

double least_ns(const Offers& offers) {
  double least = std::numeric_limits<double>::infinity();
  for (const Offer& made : offers.made())
    if (made.eligible) least = std::min(least, made.cost.total_ns());
  return least;
}

const Offer* first_of_the_cheapest(const Offers& offers) {
  const double least = least_ns(offers);
  for (const Offer& made : offers.made())
    if (made.eligible && made.cost.total_ns() <= worth_it * least) return &made;
  return nullptr;
}

/// Among those that cost nearly as little as the cheapest, leaves out those that send more by an interface; and all but those that are made for several, if
/// there are such: a double tree, which two interfaces carry as well, was measured to take 1.1 times as long where these are the limit, and twice else.
void spread_over_interfaces(const Network& network, Offers& offers) {
  const double most_ns = worth_it_by_network * least_ns(offers);
  double least_bytes = std::numeric_limits<double>::infinity();
  for (const Offer& made : offers.made())
    if (made.eligible && made.cost.total_ns() <= most_ns) least_bytes = std::min(least_bytes, made.cost.crossed);
  if (least_bytes * network.interfaces.count * network.ns_per_byte < most_of_it * most_ns) return;  // by one interface
  bool made_for_it = false;
  for (Offer& made : offers.made()) {
    made.eligible = made.eligible && made.cost.total_ns() <= most_ns && made.cost.crossed <= hardly_more * least_bytes;
    made_for_it |= made.eligible && made.algorithm->chosen == Chosen::by_interfaces;
  }
  for (Offer& made : offers.made()) made.eligible = made.eligible && (!made_for_it || made.algorithm->chosen == Chosen::by_interfaces);
}

Offers collect(const Topology& topology, const CostModel& cost, const PlanLimits& limits, const Request& request) {
  Offers offers;
  for (const Algorithm* algorithm : algorithms()) {
    Offer& made = offers.all[offers.count++];
    made = offer(*algorithm, cost, limits, request);
    if (made.objection.empty() && limits.reach != Reach::memory && !cost.network.hosts.empty()) price_network(topology, cost, limits, request, made);
    made.eligible = serves_unasked(made, cost, limits);
  }
  if (limits.reach != Reach::memory && cost.network.interfaces.count > 1) spread_over_interfaces(cost.network, offers);
  offers.chosen = first_of_the_cheapest(offers);
  return offers;
}

/// A factor with one decimal, e.g. "2.3x". By hand, since printf takes longer than all the formulas.
void append_factor(std::string& text, double factor) {
  const auto tenths = static_cast<std::uint64_t>(std::min(factor, 1e12) * 10 + 0.5);
  text += std::to_string(tenths / 10);
  text += '.';
  text += static_cast<char>('0' + tenths % 10);
  text += 'x';
}

/// Where most of the difference to the chosen plan comes from.
void append_reason(std::string& text, const Cost& cost, const Cost& chosen, double block) {
  if (cost.wait_ns - chosen.wait_ns >= cost.work_ns - chosen.work_ns) {
    if (cost.rounds == chosen.rounds) {
      text += ": its waits are longer";
    } else {
      text += ": " + std::to_string(static_cast<std::uint64_t>(cost.rounds));
      text += cost.rounds == 1 ? " dependent round" : " dependent rounds";
    }
  } else if (block > 0 && cost.crossed > chosen.crossed) {
    text += ": sends ";
    append_factor(text, cost.crossed / block);
    text += " the message between hosts";
  } else if (block > 0 && cost.moved > chosen.moved) {
    text += ": moves ";
    append_factor(text, cost.moved / block);
    text += " the message";
  } else {
    text += ": more steps";
  }
}

std::string note(const Offer& made, const Offer& chosen, bool asked_for, double block) {
  if (&made == &chosen) return asked_for ? "chosen: asked for" : "chosen";
  std::string text;
  if (!made.objection.empty()) return text.append("can't serve: ").append(made.objection);
  const double ratio = made.cost.total_ns() / chosen.cost.total_ns();
  text.reserve(64);
  if (ratio < 1) {
    if (!asked_for && made.cost.crossed > chosen.cost.crossed && worth_it_by_network * ratio >= 1)
      return "faster by less than predictions are good for; the other sends less by an interface";
    if (!asked_for && worth_it * ratio >= 1) return "faster by less than predictions are good for; the other comes first";
    append_factor(text, 1 / ratio);
    return text + (asked_for ? " faster, but not asked for" : " faster, but taken by name alone");
  }
  if (made.cost.total_ns() == chosen.cost.total_ns()) return "equal; the other comes first";
  append_factor(text, ratio);
  text += " slower";
  append_reason(text, made.cost, chosen.cost, block);
  return text;
}

Plan build(const Topology& topology, const CostModel& cost, const PlanLimits& limits, const Request& request, const Offers& offers, bool asked_for) {
  const Offer& chosen = *offers.chosen;
  Plan plan(header_of(topology, cost, limits, request, chosen), chosen.algorithm->program);
  plan.predicted_ns = chosen.expected.total_ns();
  plan.considered.reserve(offers.count);
  const auto block = static_cast<double>(block_bytes(request));
  for (std::size_t k = 0; k < offers.count; ++k) {
    const Offer& made = offers.all[k];
    plan.considered.push_back(
        {std::string(made.algorithm->name), made.expected.total_ns(), note(made, chosen, asked_for, block)});
  }
  return plan;
}

std::string known_names() {
  std::string names;
  for (const std::string_view name : algorithm_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Error cannot(const std::string& what) {
  return Error{Errc::unsupported, what, 0, "make_plan"};
}

}  // namespace

Result<Plan> make_plan(const Topology& topology, const CostModel& cost, const PlanLimits& limits,
                       const Request& request) {
  if (auto fine = check(request); !fine) return fine.error();
  const Offers offers = collect(topology, cost, limits, request);
  if (offers.chosen != nullptr) return build(topology, cost, limits, request, offers, false);
  std::string reasons;
  for (std::size_t k = 0; k < offers.count; ++k)
    reasons.append(k == 0 ? " " : "; ")
        .append(offers.all[k].algorithm->name)
        .append(": ")
        .append(offers.all[k].objection.empty() ? "taken by name alone" : offers.all[k].objection);
  return cannot("no algorithm can serve this " + std::string(to_string(request.collective)) + ":" + reasons);
}

Result<Plan> make_plan(const Topology& topology, const CostModel& cost, const PlanLimits& limits,
                       const Request& request, std::string_view algorithm) {
  if (auto fine = check(request); !fine) return fine.error();
  Offers offers = collect(topology, cost, limits, request);
  for (std::size_t k = 0; k < offers.count; ++k) {
    const Offer& made = offers.all[k];
    if (made.algorithm->name != algorithm) continue;
    if (!made.objection.empty())
      return cannot(std::string(algorithm) + " can't serve this " + std::string(to_string(request.collective)) + ": " +
                    std::string(made.objection));
    offers.chosen = &made;
    return build(topology, cost, limits, request, offers, true);
  }
  return cannot("no algorithm is called '" + std::string(algorithm) + "'; known: " + known_names());
}

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const Algorithm* algorithm : algorithms()) names.push_back(algorithm->name);
  return names;
}

}  // namespace rondo

// An algorithm is one entry of one table: what it can serve, how it lays its chunks out, what it costs, and its
// program.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rondo/planner.hpp"

namespace rondo::planner {

/// The part of a plan's header that an algorithm decides.
struct Shape {
  Protocol protocol = Protocol::staged;
  bool neutral = false;  ///< programs hold links
  std::uint32_t chunks_per_block = 1;
  std::uint32_t scratch_chunks = 0;  ///< of the plan itself
  std::uint32_t lowered_chunks = 0;  ///< the most that a rank has once links are scratch; at least scratch_chunks
  std::uint32_t depth = 2;
  std::uint32_t piece_bytes = 0;  ///< 0: as the slots allow
  bool in_place = true;           ///< serves calls in place too
  std::uint32_t levels = 0;       ///< a bit for each of CostModel::levels whose groups the plan follows
};

/// What a plan would cost the slowest rank, in two parts so that a loser can say where it lost.
struct Cost {
  double wait_ns = 0;  ///< signals that nothing hides
  double work_ns = 0;  ///< moving and combining bytes, and the steps themselves
  double rounds = 0;   ///< dependent rounds of one piece
  double moved = 0;    ///< bytes that the busiest rank copies or reduces
  double crossed = 0;  ///< bytes that a host's busiest interface sends to others, or receives
  double total_ns() const { return wait_ns + work_ns; }
};

/// What a plan follows along header.order: nothing, the ranks' places, one of the rings that the topology's wires offer, all of them, or the order in which
/// a double tree lies on the widest wires.
enum class Order : std::uint8_t { none, places, ring, rings, trees };

/// Where an algorithm is chosen unasked. `by_interfaces`: where hosts have several. `by_name`: nowhere, as nobody has measured it against the others on a
/// network.
enum class Chosen : std::uint8_t { anywhere, between_hosts, by_interfaces, by_name };

struct Algorithm {
  std::string_view name;
  bool needs_mapped = true;  ///< reads peers' scratch itself; false: made of links, which any transport serves
  /// Why it can't serve the request, or nothing when it can. Called with 2 ranks or more (copy: with 1).
  std::string_view (*objection)(const Request& request, const CostModel& cost, const PlanLimits& limits);
  Shape (*shape)(const Request& request, const CostModel& cost, const PlanLimits& limits);
  Cost (*predict)(const Request& request, const CostModel& cost, const PlanLimits& limits, const Shape& shape);
  Generator program;
  Order order = Order::none;  ///< what header.order is made of
  /// Why its reductions aren't strict (0009-strict.md), or nothing where they are. Null: they always are.
  std::string_view (*departure)(const Request& request, const CostModel& cost) = nullptr;
  bool narrows = false;  ///< all ranks end with the same bits where scratch and messages hold a wire type: a step that stores a result passes it on, too
  Chosen chosen = Chosen::anywhere;
};

/// All algorithms, simple ones first: where predicted times hardly differ the earlier one is taken (make_plan.cpp).
std::span<const Algorithm* const> algorithms();

extern const Algorithm copy_algorithm;
extern const Algorithm inline_algorithm;
extern const Algorithm one_shot_algorithm;
extern const Algorithm one_shot_streamed_algorithm;
extern const Algorithm two_shot_algorithm;
extern const Algorithm hierarchical_algorithm;
extern const Algorithm ring_algorithm;
extern const Algorithm rings_algorithm;
extern const Algorithm tree_algorithm;
extern const Algorithm recursive_doubling_algorithm;
extern const Algorithm halving_doubling_algorithm;
extern const Algorithm dissemination_algorithm;
extern const Algorithm pairwise_algorithm;
extern const Algorithm direct_one_shot_algorithm;
extern const Algorithm direct_two_shot_algorithm;
extern const Algorithm direct_push_algorithm;
extern const Algorithm direct_push_pull_algorithm;
extern const Algorithm bruck_algorithm;
extern const Algorithm pat_algorithm;
extern const Algorithm swing_algorithm;
extern const Algorithm bine_algorithm;
extern const Algorithm knomial_algorithm;
extern const Algorithm chain_algorithm;
extern const Algorithm parameter_server_algorithm;
extern const Algorithm rail_algorithm;
extern const Algorithm rail_halving_algorithm;
extern const Algorithm rail_bine_algorithm;
extern const Algorithm rail_tree_algorithm;

/// Strict reductions of types that accumulate in a wider one must not store what is combined in part.
inline bool stores_rounded(const Request& request) { return request.type == DataType::f16 || request.type == DataType::bf16; }

inline constexpr std::string_view other_collective = "it has no form for this collective";

/// Ranks in an order in which neighbours are near one another: by host, then by place in the machine. Empty: by number.
std::vector<std::uint32_t> rank_order(const Topology& topology, std::uint32_t ranks);

/// The order along which the double tree of a request lies best. Empty: by number.
std::vector<std::uint32_t> tree_order(const Topology& topology, const Request& request);

/// What a byte costs that another core at this distance has just written.
double pull_at(const CoreFigures& core, double latency_ns);

/// How many rings `rings` has: those that the topology's wires offer, else one for each interface of a host, and at least two.
std::uint32_t number_of_rings(const CostModel& cost, std::uint32_t ranks);

/// Fills in cost.rings and their source.
void find_rings(const Topology& topology, std::uint32_t ranks, CostModel& cost);

/// Fills in cost.levels and their sources: every way in which the machine parts the ranks into equal groups.
void find_levels(const Topology& topology, std::uint32_t ranks, CostModel& cost);

}  // namespace rondo::planner

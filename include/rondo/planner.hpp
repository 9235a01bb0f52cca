/// @defgroup planner Planner
/// From a topology and a request to a plan, and why that one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/plan.hpp"
#include "rondo/topology.hpp"

namespace rondo {
/// @addtogroup planner
/// @{

/// A collective call as the planner sees it. `count` is elements per block (see block_counts): what NCCL calls count,
/// sendcount (all_gather) or recvcount (reduce_scatter).
struct Request {
  Collective collective = Collective::all_reduce;  ///< what to do
  std::uint32_t ranks = 1;                         ///< in the group
  std::uint64_t count = 0;                         ///< elements of a block
  DataType type = DataType::f32;                   ///< of the elements
  ReduceOp op = ReduceOp::sum;                     ///< of the collectives that reduce
  std::uint32_t root = 0;                          ///< where is_rooted(collective)
  Alias alias = Alias::any;  ///< how input and output lie to each other, which predictions are for; the choice is always for as many calls in place as not
  std::optional<bool> rewritten = std::nullopt;  ///< likewise: whether owners wrote to their buffers since the last call; none: half of them
  bool in_place_too = false;  ///< whatever `alias` says, some of the calls are in place: the plan must serve those, too
  bool symmetric = false;                          ///< ranks can read one another's input and output (docs/design/0010-symmetric-memory.md)
  bool kernel_copies = false;                      ///< the kernel copies from one rank's input and output to another's, wherever they lie (likewise)
  std::optional<DataType> wire = std::nullopt;  ///< of sums of f32: ranks read one another's contributions in f16 or bf16 (docs/design/0012-fused-buckets.md)
  bool strict = false;  ///< its bits may depend on nothing but the inputs and the number of ranks (docs/design/0009-strict.md)
};

/// What the machine gives a plan to run in. All ranks must plan with equal values. The defaults are what a communicator
/// over shared memory has.
struct PlanLimits {
  std::uint64_t staging_bytes = 500u << 10;  ///< slots of one rank for one call (half of what it has)
  std::uint32_t inline_bytes = 32 * 56;      ///< inlined scratch of one rank for one call: payload bytes of its flags' lines
  std::uint32_t slot_header_bytes = 0;       ///< of each slot, besides its chunk's piece
  bool shares_out = true;                    ///< ranks can settle as they come to a copy which of them makes it (Step::once)
  Reach reach = Reach::memory;               ///< beyond memory that all share, plans are made of links (send/recv)
};

/// One way in which the machine parts the ranks: those below one cache, memory, socket or host are a group. Groups are equally large, and follow one another
/// in the order of the ranks' places (PlanHeader::order). Units: ns, and ns per byte. docs/design/0003-cost-model.md.
struct Level {
  std::string name;             ///< what the ranks of a group share, such as "L3" or "numa"
  std::uint32_t ranks = 0;      ///< of a group: 2 or more, and not all
  bool by_number = true;        ///< groups are runs of rank numbers, in their order
  double latency_ns = 0;        ///< a flag between the farthest two of a group
  double pull_ns_per_byte = 0;  ///< a core reads what another one of the group has just written
  double crossing_ns_per_byte = 0;  ///< of the link that leads out of a group, which its ranks share; 0: unknown
};

/// What a byte costs between two cores that are so far apart. Units: ns, and ns per byte.
struct LinkFigures {
  double latency_ns = 0;           ///< a flag written by one until the other sees it
  double pull_ns_per_byte = 0;     ///< reading what the other has just written
  double publish_ns_per_byte = 0;  ///< copying to where the other has just read
  double share_ns_per_byte = 0;    ///< what a reduction costs more that stores there
  double past_pull_ns_per_byte = 0;     ///< reading what the other has just written past its caches; 0: not known
  double past_publish_ns_per_byte = 0;  ///< copying there past the caches; 0: not known
  double fresh_pull_ns_per_byte = 0;    ///< reading what the other has just written, while its first cache holds it all; 0: not known
};

/// What cores do: the figures of the cost model that no topology tells. Those of a kind of processor, or measured by `rondo calibrate`. Units: ns, and ns
/// per byte.
struct CoreFigures {
  double copy_ns_per_byte = 0;    ///< copying within its own caches
  double reduce_ns_per_byte = 0;  ///< combining what another core has just written, more than copying it
  double shared_ns_per_byte = 0;  ///< more for a byte of the caller's buffers that its own caches don't hold
  double memory_ns_per_byte = 0;  ///< more again for one that no cache holds, while all cores move such bytes
  std::vector<LinkFigures> links; ///< at each distance that is known, nearer ones first
  double ring_bytes = 0;          ///< of slots that are best written before one is written again
  double stream_parts = 0;        ///< outputs of this many times a rank's part of a cache are written past the caches
  double kernel_ns_per_byte = 0;  ///< what a byte costs more that the kernel copies from another process's memory, which has just been written
  double kernel_call_ns = 0;      ///< and what each such copy costs besides
  double step_ns = 0;             ///< the executor's cost of a step
  double call_ns = 0;             ///< of a call's beginning and end
  double switch_ns = 0;           ///< where ranks share processors: until a waiter that yielded runs again, for each rank on its own
  std::string source;             ///< where they come from
};

/// Those that are assumed for the processors of a machine, by what its topology says they are.
CoreFigures core_figures(const Topology& topology);

/// By which interface of their hosts two ranks reach one another: channel 0 of a plan by the lower rank's own, the next by the next, and so round.
struct Interfaces {
  std::uint32_t count = 1;         ///< that each host has
  std::vector<std::uint32_t> own;  ///< by rank the number of one, 0 up to count; empty: 0

  /// Its number, below count.
  std::uint32_t between(std::uint32_t rank, std::uint32_t peer, std::uint32_t channel) const {
    return ((own.empty() ? 0 : own[rank < peer ? rank : peer]) + channel) % count;
  }
};

/// What lies between hosts: interfaces of each, which all ranks of the host share.
struct Network {
  std::vector<std::uint32_t> hosts;  ///< by rank the number of its host; empty: there is one
  double ns_per_byte = 0;            ///< of an interface, one way; the other has as much at the same time
  Interfaces interfaces = {};        ///< one, where nobody says otherwise
};

/// The figures of the cost model, with their provenance. Units: ns, and ns per byte. docs/design/0003-cost-model.md.
struct CostModel {
  CoreFigures core;             ///< what doesn't depend on where the ranks are
  double latency_ns = 0;        ///< a flag written by one rank until another sees it
  double line_ns = 0;           ///< an inlined cache line more
  double pull_ns_per_byte = 0;  ///< a core reads what another core has just written
  double fresh_pull_ns_per_byte = 0;  ///< and what that one's first cache still holds; 0: no more
  double publish_ns_per_byte = 0;  ///< it copies to where another core has just read
  double share_ns_per_byte = 0;    ///< more for a reduction that stores there
  bool slots_past_caches = false;  ///< these three are of slots that are written past the caches: memory is nearer than the other core
  double cores_per_rank = 1;    ///< ≤ 1: how much of a processor each rank gets
  double pieces_at_once = 1;    ///< of a message, that a rank moves side by side: by blocks of a GPU
  std::uint64_t own_cache_bytes = 0;  ///< of a core: what it has read stays there, and has to be taken from it again to be overwritten
  std::uint64_t cache_bytes = 0;///< a rank's part of the largest cache: what outgrows it streams from memory
  std::uint64_t ring_bytes = 0; ///< of slots that a rank goes through, in each half of its staging, where it has so many
  double link_ns_per_byte = 0;  ///< what the narrowest link between ranks lets through, where that was read or measured; pull is no less
  Network network;              ///< where ranks are on several hosts
  std::vector<Level> levels;    ///< smaller groups first; the figures above are those of ranks that share no group
  std::vector<std::uint32_t> rings;  ///< orders of all ranks, one after the other, along the widest wires between GPUs; empty: ranks aren't GPUs
  std::vector<std::string> sources;  ///< where each figure comes from
};
/// The figures for `ranks` ranks on this machine, with those of its kind of processor.
CostModel cost_model(const Topology& topology, std::uint32_t ranks);
/// The same with figures that are known better.
CostModel cost_model(const Topology& topology, std::uint32_t ranks, const CoreFigures& core);

/// Puts `latency_ns`, which comes from `source`, and what follows from it in the place of the figures that were there.
void set_latency(CostModel& cost, double latency_ns, const std::string& source);

/// The cheapest plan by the cost model among all algorithms that can serve the request. Pure: reads no clock, environment
/// or device; equal inputs give equal plans. plan.considered holds every candidate and why it lost.
/// Errors: invalid_argument (a request without sense), unsupported (no algorithm can serve it).
Result<Plan> make_plan(const Topology& topology, const CostModel& cost, const PlanLimits& limits, const Request& request);

/// The plan of one named algorithm. Errors: unsupported, saying why that algorithm can't serve the request or, for an
/// unknown name, which ones exist.
Result<Plan> make_plan(const Topology& topology, const CostModel& cost, const PlanLimits& limits, const Request& request,
                       std::string_view algorithm);

/// Names of all algorithms, for help texts.
std::vector<std::string_view> algorithm_names();

/// @}
}  // namespace rondo

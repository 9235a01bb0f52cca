// The terms of the cost formulas (docs/design/0003-cost-model.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "planner/algorithm.hpp"

namespace rondo::planner {

/// What the first line of data behind a signal costs, in signal latencies: processors fetch it ahead for the most part.
inline constexpr double first_line = 0.3;
/// What a signal costs that came before it was looked for: the line it is in has changed and is fetched all the same.
inline constexpr double timely_signal = 0.7;
inline constexpr double kernel_locks = 2;  ///< lines that a copy by the kernel fetches besides, of what guards a process's memory
inline constexpr double first_cache_bytes = 32u << 10;  ///< of a core; some have half as much more
inline constexpr std::uint32_t inline_line_bytes = 56;  ///< payload of a cache line that also holds its flag

inline std::uint32_t log2_floor(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n)) - 1;
}
inline std::uint32_t log2_ceil(std::uint32_t n) {
  return n <= 1 ? 0 : log2_floor(n - 1) + 1;
}
inline std::uint32_t power_of_two_below(std::uint32_t n) {
  return 1u << log2_floor(n);
}

inline std::uint64_t block_bytes(const Request& request) {
  return request.collective == Collective::barrier ? 0 : request.count * size_of(request.type);
}

/// Bytes of the longest chunk, the first of a block, with the standard alignment.
inline std::uint64_t chunk_bytes(const Request& request, std::uint32_t chunks_per_block) {
  PlanHeader header;
  header.chunks_per_block = chunks_per_block;
  const std::uint64_t element = size_of(request.type);
  return chunk_range(header, block_bytes(request) / element, element, 0).count * element;
}

/// Largest piece that the slots hold; 0 when not even a cache line fits. Without scratch a chunk is one piece. Messages lie in memory of the transport's.
inline std::uint64_t piece_limit(const Shape& shape, const PlanLimits& limits) {
  const std::uint32_t chunks = limits.reach == Reach::messages ? shape.scratch_chunks : shape.lowered_chunks;
  if (chunks == 0 || shape.protocol == Protocol::inlined) return ~std::uint64_t{0};
  const std::uint64_t slot = limits.staging_bytes / shape.depth / chunks / 64 * 64;
  return slot - std::min<std::uint64_t>(slot, limits.slot_header_bytes);
}

/// Bytes of scratch for each byte of the caller's.
inline double scratch_share(const Request& request) {
  return request.wire ? static_cast<double>(size_of(*request.wire)) / static_cast<double>(size_of(request.type)) : 1;
}

/// As long as a piece may be: one in a slot stays in its writer's cache until its reader has it; a message is a call of the kernel and costs its receiver a
/// wake-up, so that few are better (0018-tcp-links.md). Of ranks that share hosts some pieces are the one, some the other.
inline std::uint32_t longest_piece(const PlanLimits& limits) {
  switch (limits.reach) {
    case Reach::memory: return 64u << 10;
    case Reach::hosts: return 256u << 10;
    case Reach::messages: return 512u << 10;
  }
  return 0;
}

/// `bytes` go through a pipe piece by piece: each piece costs `piece_ns`, and each byte of the first, while nothing else moves, `byte_ns`. The size that
/// balances the two, in whole pages between `least` and `most`; `most` where bytes cost nothing.
inline std::uint32_t balanced_piece(double bytes, double piece_ns, double byte_ns, std::uint32_t least, std::uint32_t most) {
  if (byte_ns <= 0) return most;
  return static_cast<std::uint32_t>(std::clamp<double>(std::sqrt(bytes * piece_ns / byte_ns), least, most)) / 4096 * 4096;
}

/// How many of the calls are in place.
inline double in_place_share(Alias alias) {
  if (alias == Alias::any) return 0.5;
  return alias == Alias::none ? 0 : 1;
}

/// How many of the calls come on buffers that nobody has written to since the last call. A broadcast in place itself writes to all but the root's, and the
/// next root's was among those.
inline double untouched_share(const Request& request, double in_place) {
  const double left_alone = request.collective == Collective::broadcast ? 1 - in_place : 1;
  if (!request.rewritten) return left_alone / 2;
  return *request.rewritten ? 0 : left_alone;
}

/// Blocks that a rank touches less in place: what it keeps to itself alone is neither read nor written, else it is read and not written; of an all_to_all
/// all else is written where it was read.
inline double less_in_place(Collective collective, double ranks) {
  switch (collective) {
    case Collective::gather:
    case Collective::scatter: return 2;
    case Collective::all_to_all: return ranks + 1;
    case Collective::send_recv: return 0;  // nobody has both buffers
    default: return 1;
  }
}

/// One request seen through one shape.
struct Terms {
  Terms(const Request& request, const CostModel& model, const PlanLimits& limits, const Shape& shape)
      : cost(model),
        ranks(request.ranks),
        in_place(in_place_share(request.alias)),
        untouched(untouched_share(request, in_place)),
        block(static_cast<double>(block_bytes(request))),
        chunk(static_cast<double>(chunk_bytes(request, shape.chunks_per_block))) {
    const std::uint64_t wanted = shape.piece_bytes == 0 ? ~std::uint64_t{0} : shape.piece_bytes;
    in_scratch = scratch_share(request);
    const double fits = static_cast<double>(std::max<std::uint64_t>(64, piece_limit(shape, limits))) / in_scratch;
    piece = std::min({chunk, std::max(64.0, static_cast<double>(wanted)), fits});
    pieces = chunk <= piece ? 1 : std::ceil(std::ceil(chunk / piece) / model.pieces_at_once);
    const BlockCounts blocks = block_counts(request.collective, request.ranks);
    touched = block * (blocks.input + blocks.output - in_place * less_in_place(request.collective, ranks));
    // Of a rooted collective the root alone has both buffers, the others have one block.
    touched_by_each = is_rooted(request.collective) ? block + block * std::max(blocks.input, blocks.output) / ranks : touched;
    // Slots take their part of the largest cache, too.
    if (shape.protocol == Protocol::staged) touched_by_each += std::min(block * in_scratch, 2 * static_cast<double>(model.ring_bytes));
    // As many of the others as share its processor leave their data in a rank's own caches.
    const double beside = model.cores_per_rank < 1 ? (1 / model.cores_per_rank - 1) / (ranks - 1) : 0;
    near = std::min(1.0, beside);
    // What a rank touches until its peers have read, of a message in chunks those of one, drives what it has written out of its first cache.
    const double between = touched_by_each * (shape.protocol == Protocol::staged && block > 0 ? chunk / block : 1);
    const double still = std::max(0.0, 1 - between / (2 * first_cache_bytes));
    if (model.fresh_pull_ns_per_byte > 0 && model.pull_ns_per_byte > 0) fresh = 1 + still * (model.fresh_pull_ns_per_byte / model.pull_ns_per_byte - 1);
  }

  /// The kernel copies so many bytes of the peers' buffers for each rank, on the average: they take their part of the largest cache. (What it takes
  /// longer, kernel_ns_per_byte, is measured from where another core has just written; from the shared cache it takes no more.)
  void copied_by_kernel(double by_each) { touched_by_each += by_each; }

  /// Of its own buffers a rank touches so many bytes alone; its peers do the rest.
  void touches_of_its_own(double bytes) { touched = bytes; }

  bool crowded() const { return cost.cores_per_rank < 1; }

  /// A signal seen by its waiter. With fewer processors than ranks that takes the scheduler, once for each rank on a
  /// core.
  double signal_ns() const { return crowded() ? cost.core.switch_ns / cost.cores_per_rank : cost.latency_ns; }

  /// A signal from one rank to another along a chain: with fewer processors than ranks the waiter is, on the average, half a round of its processor away.
  double passed_on_ns() const { return crowded() ? signal_ns() / 2 : signal_ns(); }

  /// A signal, and the first line of the data behind it.
  double message_ns() const { return crowded() ? signal_ns() : (1 + first_line) * cost.latency_ns; }

  /// What it takes longer that the kernel copies, `bytes` in all from `reads` other processes.
  /// What its owner has rewritten comes from another core's caches, or, where ranks share a core, half of it from its own. What nobody has rewritten since the
  /// last call the reader's own caches have, as long as they hold that and where it goes to.
  double by_kernel(double bytes, double reads) const {
    const double nearer = crowded() ? (cost.pull_ns_per_byte - cost.core.copy_ns_per_byte) / 2 : 0;
    // In a call the ranks' kernels take the same locks, which one core that asks alone finds in its own caches.
    const double locks = crowded() ? 0 : kernel_locks * cost.latency_ns;
    const double held = std::clamp(2 - 2 * bytes / static_cast<double>(cost.own_cache_bytes), 0.0, 1.0);
    const double again = crowded() ? 0 : untouched * held * (pull_within(ranks) - cost.core.copy_ns_per_byte);
    return bytes * (cost.core.kernel_ns_per_byte - std::max(0.0, nearer) - again) + reads * pieces * (cost.core.kernel_call_ns + locks);
  }

  double timely_ns() const { return timely_signal * cost.latency_ns; }

  /// `rounds` of messages in each piece, in a plan that runs other pieces while they travel; the first piece's are
  /// waited for. Without a processor of its own a rank runs until its slots are full, and half of the pieces end in a
  /// switch.
  double piped_ns(double rounds) const { return piped_ns(rounds, cost.latency_ns); }
  /// The same among ranks that are nearer to one another than all are.
  double piped_ns(double rounds, double latency_ns) const {
    if (crowded()) return message_ns() * std::max(rounds, pieces / 2);
    return rounds * latency_ns * (1 + first_line + (pieces - 1) * timely_signal);
  }

  /// The level whose groups have `within` ranks; null for all ranks together.
  const Level* level_of(double within) const {
    for (const Level& level : cost.levels)
      if (level.ranks == within) return &level;
    return nullptr;
  }

  /// Between the farthest two of `within` ranks: no farther than the farthest of all, which may be a probed figure.
  double latency_within(double within) const {
    const Level* level = level_of(within);
    return level == nullptr ? cost.latency_ns : std::min(level->latency_ns, cost.latency_ns);
  }

  double line_within(double within) const {
    return cost.latency_ns > 0 ? cost.line_ns * (latency_within(within) / cost.latency_ns) : cost.line_ns;
  }

  /// A cache line from one of every `each` ranks among `within`, the rank's own `each` left out. Both are 1, a level's groups, or all ranks.
  double lines_among(double each, double within) const {
    double lines = 0;
    double seen = each;
    for (const Level& level : cost.levels) {
      if (level.ranks <= each || level.ranks >= within) continue;
      lines += (level.ranks - seen) / each * line_within(level.ranks);
      seen = level.ranks;
    }
    return lines + (within - seen) / each * line_within(within);
  }
  double lines_of_all() const { return lines_among(1, ranks); }

  /// A byte read from the farthest of `within` ranks.
  double pull_within(double within) const {
    const Level* level = level_of(within);
    return mixed(fresh * (level == nullptr ? cost.pull_ns_per_byte : std::min(level->pull_ns_per_byte, cost.pull_ns_per_byte)));
  }

  /// Reading `bytes`, equal parts from one of every `each` ranks among `within`, while all ranks do the same. What comes from outside a group on the way
  /// goes over the link that all its ranks share.
  double pull_among(double bytes, double each, double within) const {
    double per_byte = pull_within(within);
    for (const Level& level : cost.levels)
      if (level.ranks >= each && level.ranks < within)
        per_byte = std::max(per_byte, (within - level.ranks) / (within - each) * level.ranks * level.crossing_ns_per_byte * cost.cores_per_rank);
    return bytes * per_byte;
  }
  double pull_from_all(double bytes) const { return pull_among(bytes, 1, ranks); }
  double pull_and_add_from_all(double bytes) const { return pull_from_all(bytes) + add(bytes); }

  /// Reading `bytes` that one rank has, while one of every `each` ranks among `within` does: they all draw on the links that lead to it.
  double pull_from_one(double bytes, double each, double within) const {
    double per_byte = pull_within(within);
    for (const Level& level : cost.levels)
      if (level.ranks >= each && level.ranks < within)
        per_byte = std::max(per_byte, (within - level.ranks) / each * level.crossing_ns_per_byte * cost.cores_per_rank);
    return bytes * per_byte;
  }

  double copy(double bytes) const { return bytes * cost.core.copy_ns_per_byte; }
  /// What a rank has itself and gives itself: a copy out of place, nothing in place. What no cache holds takes twice as long, since nothing else is under way
  /// meanwhile.
  double keep(double bytes) const { return copy(bytes) * (1 + beyond_caches()) * (1 - in_place); }
  double pull(double bytes) const { return bytes * mixed(fresh * cost.pull_ns_per_byte); }
  double add(double bytes) const { return bytes * cost.core.reduce_ns_per_byte; }
  double pull_and_add(double bytes) const { return pull(bytes) + add(bytes); }

  /// A copy to where others have read and will read again.
  double publish(double bytes) const { return bytes * mixed(cost.publish_ns_per_byte); }

  /// Of `bytes` that others have read or written in earlier calls, those that are still in their caches.
  double held_by_others(double bytes) const { return std::min(bytes, static_cast<double>(cost.own_cache_bytes) / 2); }

  /// What a copy costs more to such a place.
  double written_by_others(double bytes) const { return publish(held_by_others(bytes)) - copy(held_by_others(bytes)); }

  /// What a reduction's stores to such a place cost more than others.
  double share(double bytes) const { return bytes * (1 - near) * cost.share_ns_per_byte; }

  /// The same where what others have read of earlier calls may have left their caches since.
  double share_again(double bytes) const { return share(held_by_others(bytes)); }

  /// Which part of what a call touches no cache holds. The largest one, of which a rank's part is what all leave to it, begins to lose at half that size
  /// what goes round, and at the whole it keeps nothing.
  double beyond_caches() const {
    const double half = std::max(1.0, static_cast<double>(cost.cache_bytes) / 2);
    return std::clamp((touched_by_each - half) / half, 0.0, 1.0);
  }

  /// Work of a rank: what moving takes, steps, and what of the user's buffers doesn't stay in the cache.
  double work_ns(double moving_ns, double steps) const {
    // Of what goes round through an own cache that is too small for it, half the cache's size is still there the next time.
    const double shared = std::max(0.0, touched - static_cast<double>(cost.own_cache_bytes) / 2);
    const double fetching = shared * cost.core.shared_ns_per_byte + touched_by_each * beyond_caches() * cost.core.memory_ns_per_byte;
    return (moving_ns + steps * cost.core.step_ns + fetching + cost.core.call_ns) / cost.cores_per_rank;
  }

  /// Moving where one rank has more to do than the others: it is the bottleneck, or all together are, on fewer
  /// processors.
  double lopsided(double busiest_ns, double all_ns) const {
    return std::max(busiest_ns * cost.cores_per_rank, crowded() ? all_ns / ranks : 0);
  }

  const CostModel& cost;
  double ranks;
  double in_place;   ///< how many of the calls are
  double untouched;  ///< how many come on buffers that nobody has written to since the last call
  double block;      ///< bytes of a block
  double chunk;      ///< bytes of the longest chunk
  double piece = 0;  ///< bytes of a piece
  double pieces = 1;
  double in_scratch = 1;       ///< what a byte of the caller's takes there
  double touched = 0;          ///< bytes of the caller's buffers, input and output: the busiest rank's
  double touched_by_each = 0;  ///< the same on the average, since all share the way to memory; and its slots
  double fresh = 1;            ///< times of what a byte takes that a rank reads from another: more while its writer's first cache holds it
  double near = 0;             ///< which part of the other ranks is on this one's processor

 private:
  /// Of what comes from other ranks or is left to them, those on the same processor have their part in its own caches.
  double mixed(double per_byte) const { return near * cost.core.copy_ns_per_byte + (1 - near) * per_byte; }
};

}  // namespace rondo::planner

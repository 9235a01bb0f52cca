// The memory that the hand-written exchanges share: flags with one writer each, and staging slots.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace floor_bench {

inline constexpr std::uint32_t max_ranks = 8;
inline constexpr std::size_t slot_bytes = std::size_t{256} << 10;  // the largest piece
inline constexpr std::uint32_t slots = 4;  // a skew of two pieces needs three; a power of two is cheap

/// A progress word alone in its pair of lines (the prefetcher fetches pairs). One writer; counts up for ever.
struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Flag and 8-byte payload in one cache line.
struct alignas(128) Line {
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::uint64_t> payload{0};
};

/// What one rank writes and the others read.
struct RankArea {
  std::array<Line, 2> lines;  // tiny exchange, by call parity
  Flag barrier;
  Flag one_shot;       // pieces whose input is staged
  Flag two_shot;       // rounds whose foreign input is staged
  Flag two_shot_done;  // rounds whose own shard is reduced
  alignas(
      4096) std::byte staged[slots][slot_bytes];  // one-shot: my piece; two-shot: shard s at offset s · piece / ranks
  alignas(4096) std::byte reduced[slots][slot_bytes];
};

/// Zero-filled shared memory is a valid Region: mmap it, shared, at any address.
struct Region {
  std::array<RankArea, max_ranks> rank;
};

/// Waits for a flag: spins, or yields at once when there are more ranks than cores.
inline void wait_for(const std::atomic<std::uint64_t>& word, std::uint64_t value, bool crowded) {
  // Pairs with publish(): acquire makes what the writer wrote before the flag visible.
  for (std::uint32_t spins = 0; word.load(std::memory_order_acquire) < value; ++spins) {
    if (crowded || spins > 20000) {
      sched_yield();
      continue;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

/// Pairs with wait_for(): release publishes everything written before.
inline void publish(Flag& flag, std::uint64_t value) {
  flag.value.store(value, std::memory_order_release);
}

}  // namespace floor_bench

// What a forked child must know: that it is one, and which descriptors it must not hold.
#pragma once

#include <atomic>
#include <cstdint>

namespace rondo {

/// Of fork_generation(); fork_guard.cpp counts.
extern std::atomic<std::uint64_t> forks_until_here;

/// How many forks lie between this process and the one that first used the library. One relaxed load.
inline std::uint64_t fork_generation() { return forks_until_here.load(std::memory_order_relaxed); }

/// Descriptors whose being open tells peers that this process lives: a forked child closes its copies at once.
void close_in_children(int fd);
void forget_in_children(int fd);

}  // namespace rondo

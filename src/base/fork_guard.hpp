// What a forked child must know: that it is one, and which descriptors it must not hold.
#pragma once

#include <cstdint>

namespace rondo {

/// How many forks lie between this process and the one that first used the library. One relaxed load.
std::uint64_t fork_generation();

/// Descriptors whose being open tells peers that this process lives: a forked child closes its copies at once.
void close_in_children(int fd);
void forget_in_children(int fd);

}  // namespace rondo

// One thread a process that sleeps until a peer's lifeline hangs up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rondo {

/// Which ranks have gone, by rank. Shared, since the watcher may be writing while its owner goes.
using DeathNote = std::shared_ptr<std::vector<std::atomic<bool>>>;

/// Watches `fd` (the read end of a pipe whose write end `rank` holds): on hang-up sets the note's entry of `rank`. The
/// caller keeps the descriptor open until unwatch(fd). Thread-safe. False when there are no descriptors left.
bool watch_lifeline(int fd, std::uint32_t rank, const DeathNote& note);
void unwatch_lifeline(int fd);

}  // namespace rondo

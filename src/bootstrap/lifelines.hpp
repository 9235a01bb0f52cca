// The connections by which the ranks of several machines met, kept open to see who is lost: whatever a process does, its kernel answers for it, and hangs
// up when it ends; and where nothing is answered any more, its machine or the way there has gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/live_fd.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {

/// Rank 0 has a line to every rank, all others one to rank 0. Thread-safe.
class Lifelines {
 public:
  /// `peers` by rank, without a socket where there is no line.
  explicit Lifelines(std::vector<PeerSocket> peers);

  /// Looks after the lines, if nobody has for a while; to be called by whoever waits, and now and then by who doesn't. What it sends must be
  /// acknowledged within 1.7 s.
  void turn(std::int64_t now_ns);
  /// Since when a rank is known to be lost (its line has ended); 0: nothing is known.
  std::int64_t lost_since(std::uint32_t rank) const { return lost_ns_[rank].load(std::memory_order_relaxed); }

 private:
  void look_after(std::uint32_t rank, bool heartbeat, std::int64_t now_ns);

  std::mutex mutex_;           ///< of the sockets
  std::vector<LiveFd> lines_;  ///< by rank
  std::vector<std::uint32_t> unheard_;  ///< heartbeats by rank since it last sent one
  std::unique_ptr<std::atomic<std::int64_t>[]> lost_ns_;
  std::atomic<std::int64_t> next_look_ns_{0};
  std::int64_t next_heartbeat_ns_ = 0;
};

}  // namespace rondo

// How the processes of a job come together: rank 0 holds a meeting, the others come to it and say who they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptors.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/door.hpp"
#include "bootstrap/peers.hpp"
#include "rondo/result.hpp"

namespace rondo {

inline constexpr std::size_t most_strangers = 64;  ///< who haven't said yet who they are

/// Rank 0 of two or more: waits for all others. Element r leads to rank r, element 0 to nobody. A rank that goes away or can't take part ends it
/// for all: those who have come hear it at once, those who come within half a second when they come. Strangers and those who say
/// nothing are dropped within 2 s and hold nobody up.
/// `own_trouble`: why rank 0 itself can't take part; then it only tells those who come, for a moment.
Result<std::vector<PeerSocket>> hold_meeting(Door& door, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                             const Result<void>& own_trouble, const StaysAway& stays_away);

inline constexpr std::int64_t trouble_ns = 50'000'000;  ///< how long a rank that knows at once that it can't take part tries to say so

/// Rank 0's answer to who has said all that it must, over the socket `first`: success when it takes this rank in.
Result<void> hear_verdict(const PeerSocket& first, std::int64_t deadline_ns, const Result<void>& own_trouble, const Result<void>& sent);

/// Any other rank of a job on this machine: a socket to rank 0, by which this one is taken in. With trouble of its own it only says so to rank 0, if
/// that is there.
Result<PeerSocket> come_to_local(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns, const Result<void>& own_trouble,
                                 const StaysAway& stays_away);

/// A bootstrap of ranks that have met. `peers`: rank 0's lead to all, by rank, all others' first one to rank 0. `descriptors`: whether they can pass.
std::unique_ptr<Bootstrap> make_star(std::uint32_t rank, std::uint32_t size, std::vector<PeerSocket> peers, bool descriptors);

/// The whole of it: rank 0 holds the meeting behind the door that `open` gives, another rank goes there by `come`, which is told what keeps this rank
/// from taking part.
template <class Open, class Come>
Result<std::unique_ptr<Bootstrap>> bootstrap_by_meeting(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                                        const StaysAway& stays_away, bool descriptors, const Open& open, const Come& come) {
  const auto own_trouble = check_descriptors(size, 1);
  std::vector<PeerSocket> peers(1);
  if (rank != 0) {
    auto first = come(own_trouble);
    if (!first) return first.error();
    peers[0] = std::move(*first);
  } else if (size == 1) {
    if (!own_trouble) return own_trouble.error();
  } else {
    auto door = open();
    if (!door) return own_trouble ? door.error() : own_trouble.error();
    auto met = hold_meeting(**door, size, job, deadline_ns, own_trouble, stays_away);
    if (!met) return met.error();
    peers = std::move(*met);
  }
  return make_star(rank, size, std::move(peers), descriptors);
}

}  // namespace rondo

// How the processes of a job come together: rank 0 holds a meeting, the others come to it and say who they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptors.hpp"
#include "bootstrap/attendance.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/door.hpp"
#include "bootstrap/peers.hpp"
#include "rondo/result.hpp"

namespace rondo {

inline constexpr std::size_t most_strangers = 64;  ///< who haven't said yet who they are

/// Why the whole comes to nothing, known from elsewhere; null: it doesn't.
using Ended = std::function<const Error*()>;

/// A rank that awaits others. Gives a socket to each of them, by seat. One that goes away or can't take part ends it for all: those who have come hear
/// it at once, those who come within half a second when they come. Strangers and those who say nothing are dropped within 2 s and hold nobody up.
/// `ended`: asked while ranks are awaited.
Result<std::vector<PeerSocket>> hold_meeting(Door& door, Attendance attendance, std::int64_t deadline_ns, const StaysAway& stays_away,
                                             const Ended& ended = {});

/// Instead, of a rank that can't take part itself: it tells those who come, for a moment. Returns its own error.
Error turn_away(Door& door, Attendance attendance, std::int64_t deadline_ns, const Error& own_trouble);

inline constexpr std::int64_t trouble_ns = 300'000'000;  ///< how long a rank that knows at once that it can't take part tries to say so

/// The answer of rank `rank` to who has said all that it must, over the socket `peer`: success when it takes this rank in.
Result<void> hear_verdict(const PeerSocket& peer, std::uint32_t rank, std::int64_t deadline_ns, const Result<void>& own_trouble, const Result<void>& sent);

/// Any other rank of a job on this machine: a socket to rank 0, by which this one is taken in. With trouble of its own it only says so to rank 0, if
/// that is there.
Result<PeerSocket> come_to_local(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns, const Result<void>& own_trouble,
                                 const StaysAway& stays_away);

/// All ranks but the first.
std::vector<std::uint32_t> all_but_first(std::uint32_t size);

/// The whole of it: rank 0 holds the meeting behind the door that `open` gives, another rank goes there by `come`, which is told what keeps this rank
/// from taking part. Sockets by rank: rank 0's to all others, another's to rank 0.
template <class Open, class Come>
Result<std::vector<PeerSocket>> meet_at_rank_0(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                               const StaysAway& stays_away, const Open& open, const Come& come) {
  const auto own_trouble = check_descriptors(size, 1);
  std::vector<PeerSocket> peers(1);
  if (rank != 0) {
    auto first = come(own_trouble);
    if (!first) return first.error();
    peers[0] = std::move(*first);
    return peers;
  }
  if (size == 1) return own_trouble ? std::move(peers) : Result<std::vector<PeerSocket>>(own_trouble.error());
  auto door = open();
  if (!door) return own_trouble ? door.error() : own_trouble.error();
  Attendance attendance({job, size}, 0, this_process(), all_but_first(size));
  if (!own_trouble) return turn_away(**door, std::move(attendance), deadline_ns, own_trouble.error());
  auto met = hold_meeting(**door, std::move(attendance), deadline_ns, stays_away);
  if (met) met->insert(met->begin(), PeerSocket{});
  return met;
}

}  // namespace rondo

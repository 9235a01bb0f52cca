// How the processes of a job come together: rank 0 listens, the others connect and say who they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/peers.hpp"
#include "rondo/result.hpp"

namespace rondo {

/// Rank 0: waits for all others. Element r leads to rank r, element 0 to nobody. A rank that goes away or can't take part ends it
/// for all: those who have come hear it at once, those who come within half a second when they come. Strangers and those who say
/// nothing are dropped within 2 s and hold nobody up.
/// `own_trouble`: why rank 0 itself can't take part; then it only tells those who come, for a moment.
Result<std::vector<PeerSocket>> listen_for_all(std::uint32_t size, const std::string& job, std::int64_t deadline_ns, const Result<void>& own_trouble,
                                               const StaysAway& stays_away);

/// Any other rank: the one element leads to rank 0. With trouble of its own it only says so to rank 0, if that is there.
Result<std::vector<PeerSocket>> connect_to_first(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                                 const Result<void>& own_trouble, const StaysAway& stays_away);

/// The process at the other end of a UNIX socket, when it is this user's; -1 when it is somebody else's.
pid_t process_of_same_user(int socket);

}  // namespace rondo

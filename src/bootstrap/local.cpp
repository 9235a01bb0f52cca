#include "base/descriptors.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/local_door.hpp"
#include "bootstrap/meeting.hpp"

namespace rondo {
namespace {

Result<std::vector<PeerSocket>> meet(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns, const Result<void>& room,
                                     const StaysAway& stays_away) {
  if (rank == 0) {
    if (size == 1) return room ? Result<std::vector<PeerSocket>>(std::vector<PeerSocket>(1)) : room.error();
    auto door = open_local_door(job);
    if (!door) return room ? door.error() : room.error();
    return hold_meeting(**door, size, job, deadline_ns, room, stays_away);
  }
  auto first = come_to_local(rank, size, job, deadline_ns, room, stays_away);
  if (!first) return first.error();
  std::vector<PeerSocket> peers;
  peers.push_back(std::move(*first));
  return peers;
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_local_bootstrap(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                                        const StaysAway& stays_away) {
  auto peers = meet(rank, size, job, deadline_ns, check_descriptors(size, 1), stays_away);
  if (!peers) return peers.error();
  return make_star(rank, size, std::move(*peers), true);
}

}  // namespace rondo

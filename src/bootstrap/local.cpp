#include "bootstrap/bootstrap.hpp"
#include "bootstrap/local_door.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/met.hpp"

namespace rondo {

Result<std::unique_ptr<Bootstrap>> make_local_bootstrap(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                                        const StaysAway& stays_away) {
  auto peers = meet_at_rank_0(
      rank, size, job, deadline_ns, stays_away, [&] { return open_local_door(job); },
      [&](const Result<void>& own_trouble) { return come_to_local(rank, size, job, deadline_ns, own_trouble, stays_away); });
  if (!peers) return peers.error();
  return make_met_bootstrap(std::make_unique<Correspondence>(rank, size, std::move(*peers), true));
}

}  // namespace rondo

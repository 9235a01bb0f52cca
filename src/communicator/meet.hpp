// How the ranks that an environment describes find one another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/config.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/launcher.hpp"

namespace rondo {

/// On one machine over a UNIX socket; where they may be on several over TCP, at MASTER_ADDR and MASTER_PORT, with the job's key. Who then turn out
/// to be on one machine meet there once more, for only so can they share memory. Blocks as make_local_bootstrap does; errors: its own,
/// make_network_bootstrap's and, where the key is wrong or is wanted and missing, invalid_argument.
Result<std::unique_ptr<Bootstrap>> meet(const JobEnvironment& job, std::int64_t deadline_ns, const StaysAway& stays_away);

/// An id whose place is where others reach this process, as the configuration and the routes say.
Result<std::string> fresh_unique_id();

/// Ranks that a launcher passes texts between: rank 0's id goes to all that way, and they meet by it.
Result<std::unique_ptr<Bootstrap>> meet_through(Launcher& launcher, std::int64_t deadline_ns, const StaysAway& stays_away);

/// How ranks were given an id: in some way that others may listen to, or by one another.
enum class Given : std::uint8_t { somehow, by_ranks };

/// Ranks that were given an id meet where it says, over TCP, and once more as above. The key is the id's, with the job's where there is one and others
/// may have heard the id. Errors: the same, and invalid_argument where rank 0's process didn't make the id, or has used it before.
Result<std::unique_ptr<Bootstrap>> meet_by_id(std::uint32_t rank, std::uint32_t size, const std::string& id, std::int64_t deadline_ns,
                                              const StaysAway& stays_away, Given given = Given::somehow);

}  // namespace rondo

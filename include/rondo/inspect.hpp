/// @defgroup inspect Inspection
/// What ranks are doing, seen from outside: read in the memory that they share, without stopping or asking them; or what they were doing, by what they have
/// written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/result.hpp"

namespace rondo {
/// @addtogroup inspect
/// @{

/// A wait of a rank for another one's signal, in the call that it is in.
struct SeenWait {
  std::uint32_t rank = 0;      ///< whom it waits for
  std::uint64_t signals = 0;   ///< so many of that rank's lane
  std::uint32_t lane = 0;      ///< of that rank
  std::uint32_t own_lane = 0;  ///< of its plan, where it waits
  std::uint32_t own_step = 0;  ///< likewise
};

/// One rank of one communicator.
struct SeenRank {
  std::int64_t process = 0;            ///< as numbered here
  std::string hindrance;               ///< why its process doesn't run: "stopped by a signal"; empty: nothing is known to be in its way
  std::uint64_t family = 0;            ///< the same for all ranks of communicators that were split from one another
  std::uint64_t communicator = 0;      ///< 0: the first of the family; else the number of a split one
  std::uint64_t first_of_group = 0;    ///< communicators of one number that were split apart: the first one's rank in the family
  std::uint32_t rank = 0;              ///< in its communicator
  std::uint32_t size = 0;              ///< of its communicator
  std::string state;                   ///< "running", "left", "aborted" or "failed"
  std::string last_words;              ///< of one that failed: why
  std::uint64_t call = 0;              ///< the collective call that it is in or was in last; 0: none
  std::string operation;               ///< what that is: "all_reduce of 1024 f32 (sum)"
  std::uint64_t finished = 0;          ///< the last call that it has finished
  std::vector<std::uint64_t> signals;  ///< by lane: those that it has given in `call`
  std::optional<SeenWait> wait;        ///< what holds it up there, where it has waited long enough to say, and that hasn't come since
};

/// All ranks of the jobs that these processes belong to; without processes of all jobs of this user. Reads /proc and the ranks' shared memory, which
/// needs the right to trace them (the same user, mostly). What is read of a rank that runs on is of one moment, of several of nearly one.
/// Errors: invalid_argument names a process that isn't there, can't be looked into, or has no communicator over shared memory.
Result<std::vector<SeenRank>> inspect(const std::vector<std::int64_t>& processes);

/// The ranks whose flight records (Communicator::flight_record(), or what a rank logs when it fails) stand in `text`, among whatever else; of each rank the
/// last one. Messages between two ranks are left out. Error: invalid_argument (there is none).
Result<std::vector<SeenRank>> read_records(std::string_view text);

/// What they are doing, for a person: a line a rank, and for each communicator who holds it up.
std::string explain(const std::vector<SeenRank>& ranks);

/// @}
}  // namespace rondo

// An id that one process makes and all ranks of a communicator are handed by whatever means they have: it says where they meet, and has a key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "bootstrap/network.hpp"
#include "rondo/result.hpp"

namespace rondo {

inline constexpr std::size_t longest_unique_id = 127;  ///< in characters
inline const std::string no_unique_id = "-";           ///< what a rank that can't listen tells the others in an id's place

/// Listens at `address` (numeric), at a port that the kernel chooses, from now on, and remembers that for take_listener(). Errors: io,
/// invalid_argument (the address isn't this machine's), out_of_resources.
Result<std::string> make_unique_id(const std::string& address);

/// Where the ranks that have this id meet, by its key and their job's, where that has one. Error invalid_argument: it isn't one.
Result<MeetingPlace> place_of_unique_id(const std::string& id, const std::optional<JobKey>& job_key = {});

/// The listener of an id that this process made and nobody has taken yet; else none.
Fd take_listener(const std::string& id);

}  // namespace rondo

// The door of a job on one machine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bootstrap/door.hpp"
#include "bootstrap/meeting.hpp"

namespace rondo {

/// Errors: invalid_argument (another job has this name), out_of_resources, io.
Result<std::unique_ptr<Door>> open_local_door(const std::string& job);

/// The process at the other end of a UNIX socket, as PeerSocket has it; nothing when it is somebody else's than this user's.
std::optional<std::string> process_of_same_user(int socket);

}  // namespace rondo

// What the control groups, version 1 and 2, leave this process besides processor time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::doctor {

/// The least memory limit on the way from this process's group to its root, in bytes; no value: none. `root` stands before /proc
/// and the mount points, so that a made-up tree can be read.
std::optional<std::uint64_t> memory_limit_of_groups(const std::string& root = "");

/// Processes and threads that those groups still grant (pids.max); no value: no limit.
std::optional<std::uint64_t> tasks_left_in_groups(const std::string& root = "");

}  // namespace rondo::doctor

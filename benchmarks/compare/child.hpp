// Child processes of the coordinator: how they end, and what their launchers say about it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace compare {

/// Reaps the child if it ends in time.
bool ends_before(pid_t child, std::chrono::steady_clock::time_point limit);

/// "killed by signal 11, Segmentation fault" or "ended with status 1", from waitpid's status.
std::string tell_status(int status);

/// Waits half a second at most for the first of the children to end, takes it out of the list and returns how it ended.
/// Empty: none has.
std::string reap_one(std::vector<pid_t>& children);

/// A descriptor that takes what a child and its children print, in memory. Not inherited; a child duplicates it.
int make_transcript();

/// The first line of a transcript that is not in a launcher's frame. Empty: there is none.
std::string first_line(int transcript);

}  // namespace compare

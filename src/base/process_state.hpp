// What the kernel says of another process.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo {

/// Why this process (as numbered here) doesn't run, in words: it is stopped, traced, dead. "" where nothing is in its way, or nothing is known.
std::string_view hindrance_of(std::int64_t process);

/// Whether a thread is stopped by a signal on its way back from a call of the kernel's of this number: what that does is done, and nothing more is until the
/// thread goes on. False where this isn't known, as on Arm, whose kernel forgets the number then.
bool stopped_behind_call(std::int64_t process, std::int64_t thread, long number);

}  // namespace rondo

// What the kernel says of another process.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo {

/// Why this process (as numbered here) doesn't run, in words: it is stopped, traced, dead. "" where nothing is in its way, or nothing is known.
std::string_view hindrance_of(std::int64_t process);

}  // namespace rondo

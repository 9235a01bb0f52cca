// A number that no other process has, for ranks that have to know whether they are threads of one.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <cstdint>

namespace rondo {

/// The same for all threads of this process. Thread-safe.
inline std::uint64_t process_number() {
  static const std::uint64_t number = [] {
    std::uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn)) drawn = static_cast<std::uint64_t>(getpid());
    return drawn;
  }();
  return number;
}

}  // namespace rondo

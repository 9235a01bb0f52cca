// The monotonic clock, in nanoseconds: clock jumps do nothing to us.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rondo {

inline std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// `within` from now, or in a century.
inline std::int64_t deadline_after(std::chrono::nanoseconds within) {
  constexpr std::int64_t century_ns = 36'525LL * 86'400 * 1'000'000'000;
  return now_ns() + std::min<std::int64_t>(within.count(), century_ns);
}

}  // namespace rondo

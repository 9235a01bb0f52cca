// The monotonic clock, in nanoseconds: clock jumps do nothing to us.
#pragma once

#include <time.h>

#include <cstdint>

namespace rondo {

inline std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace rondo

// When somebody's time is over.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

inline std::int64_t deadline_in(double seconds) { return rondo::now_ns() + static_cast<std::int64_t>(seconds * 1e9); }

// The clock of measurements.
#pragma once

#include <chrono>

namespace bench_support {

using Clock = std::chrono::steady_clock;

inline double ns_since(Clock::time_point begin) { return std::chrono::duration<double, std::nano>(Clock::now() - begin).count(); }

}  // namespace bench_support

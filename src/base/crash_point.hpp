// Places where tests may end this process. In debug and sanitized builds alone: in all others nothing is left of them.
#pragma once

#include <atomic>

namespace rondo {

/// Called at every crash point with its name.
using CrashHook = void (*)(const char* place);

#ifdef RONDO_CRASH_POINTS
inline constexpr bool has_crash_points = true;
#else
inline constexpr bool has_crash_points = false;
#endif

/// Set by tests, in builds that have crash points; null: nothing happens there.
inline constinit std::atomic<CrashHook> crash_hook{nullptr};

/// A change of state. `place` is a literal that says what has just happened.
inline void crash_point([[maybe_unused]] const char* place) {
  if constexpr (has_crash_points)
    if (const CrashHook hook = crash_hook.load(std::memory_order_relaxed); hook != nullptr) hook(place);
}

}  // namespace rondo

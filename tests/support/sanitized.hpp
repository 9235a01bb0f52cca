// Whether this is a sanitized build, where making and checking data takes long: tests make less of it there.
#pragma once

#ifdef RONDO_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// premul_sum's factor where elements are integers.
#pragma once

#include <cstdint>

namespace rondo {

/// Whether what the factor has before its point is an i64.
constexpr bool fits_integers(double scale) { return scale >= -0x1p63 && scale < 0x1p63; }

/// That number; 0 where it is none, which calls on integers are refused for.
constexpr std::int64_t integer_scale(double scale) { return fits_integers(scale) ? static_cast<std::int64_t>(scale) : 0; }

}  // namespace rondo

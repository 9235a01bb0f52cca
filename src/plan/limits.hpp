// What a plan may ask for: far beyond what serves, yet no sum or product of these numbers can wrap.
#pragma once

#include <cstdint>

namespace rondo::plan {

inline constexpr std::uint32_t max_ranks = 1'000'000;
inline constexpr std::uint32_t max_chunks = 1u << 24;  ///< of one buffer
inline constexpr std::uint32_t max_depth = 1u << 16;
inline constexpr std::uint32_t max_alignment = 1u << 20;
inline constexpr std::uint32_t max_skew = 1u << 16;
inline constexpr std::uint32_t max_lag = 1u << 16;
inline constexpr std::uint32_t max_lanes = 1u << 16;
inline constexpr std::uint32_t max_once = 16;  ///< words of a rank by which copies are shared out
inline constexpr std::uint32_t max_operands = 65535;  ///< on one side of a step

}  // namespace rondo::plan

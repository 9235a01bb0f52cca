// How calls and the signals in them are numbered in the words that ranks share, in memory of processors and of GPUs.
#pragma once

#include <cstdint>

namespace rondo {

inline constexpr unsigned progress_call_shift = 24;  ///< progress word = call << 24 | signals done in this call
inline constexpr std::uint64_t max_signals = 1u << progress_call_shift;

/// The history after one more call. Flags carry it, so that ranks that disagreed in a call where nobody waited find out at
/// the next flag.
constexpr std::uint32_t chained(std::uint32_t history, std::uint32_t digest) {
  const std::uint32_t mixed = (history ^ digest) * 0x9e3779b1u;
  return mixed ^ (mixed >> 15);
}

}  // namespace rondo

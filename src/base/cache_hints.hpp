// Hints to the caches about lines that pass from one core to another. They change no result; a processor that doesn't know
// one takes it for a no-op. What they bring was measured: docs/design/0003-cost-model.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

inline constexpr std::size_t cache_line = 64;

/// Lines just written that another core reads next: towards the cache that both share. Where more than a few dozen lines are
/// handed over the hint costs more than it saves.
inline void demote_lines([[maybe_unused]] const void* first, [[maybe_unused]] std::size_t bytes) {
#if defined(__x86_64__)
  for (std::size_t at = 0; at < bytes; at += cache_line) asm volatile("cldemote %0" ::"m"(static_cast<const std::uint8_t*>(first)[at]));
#endif
}

/// How far ahead lines are worth asking for; 0003-cost-model.md has the measurements.
inline constexpr std::size_t asked_ahead_bytes = 512;

/// A line that this core is about to overwrite, and that another core has read: asks for it before the store needs it.
inline void claim_line([[maybe_unused]] const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*static_cast<const std::uint8_t*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace rondo

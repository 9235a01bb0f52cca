// Copies of a few bytes without a call, and the packing of inline lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cache_hints.hpp"
#include "base/cpu_relax.hpp"
#include "executor/slot_layout.hpp"

namespace rondo {

inline constexpr std::uint64_t small_copy_limit = 64;

/// The first and the last `part` bytes of so many, which may overlap: moves of a width that the compiler knows. A struct as wide would go
/// by way of the stack, in other widths than it is then read in.
template <std::size_t part>
[[gnu::always_inline]] inline void copy_ends(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  std::memcpy(to, from, part);
  std::memcpy(to + bytes - part, from + bytes - part, part);
}

/// memcpy for few bytes: two overlapping moves instead of a call. More bytes go to memcpy.
[[gnu::always_inline]] inline void small_copy(void* destination, const void* source, std::uint64_t bytes) {
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  if (bytes > 64) std::memcpy(to, from, bytes);
  else if (bytes >= 32) copy_ends<32>(to, from, bytes);
  else if (bytes >= 16) copy_ends<16>(to, from, bytes);
  else if (bytes >= 8) copy_ends<8>(to, from, bytes);
  else if (bytes >= 4) copy_ends<4>(to, from, bytes);
  else if (bytes >= 2) copy_ends<2>(to, from, bytes);
  else if (bytes == 1) *to = *from;
}

/// Writes at most `inline_payload` bytes into an inline line, then its flag.
[[gnu::always_inline]] inline void fill_line(InlineLine& line, const std::byte* source, std::uint64_t bytes, std::uint64_t flag) {
  small_copy(line.payload, source, bytes);
  // pairs with Run::poll_line: acquire of the flag sees the payload
  line.flag.store(flag, std::memory_order_release);
}

/// Writes `bytes` into consecutive inline lines, each with its flag. No bytes: one line, the flag alone.
inline void publish_lines(InlineLine* lines, const std::byte* source, std::uint64_t bytes, std::uint64_t flag) {
  InlineLine* const first = lines;
  for (std::uint64_t at = 0; at < bytes; at += inline_payload) claim_line(first + at / inline_payload);
  for (; bytes > inline_payload; ++lines, source += inline_payload, bytes -= inline_payload) fill_line(*lines, source, inline_payload, flag);
  fill_line(*lines, source, bytes, flag);
  demote_lines(first, static_cast<std::size_t>(lines + 1 - first) * sizeof(InlineLine));
}

inline void unpack_lines(std::byte* destination, const InlineLine* lines, std::uint64_t bytes) {
  for (; bytes != 0; ++lines) {
    const std::uint64_t part = std::min<std::uint64_t>(bytes, inline_payload);
    small_copy(destination, lines->payload, part);
    destination += part;
    bytes -= part;
  }
}

}  // namespace rondo

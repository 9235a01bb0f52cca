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

/// memcpy for few bytes: two overlapping moves instead of a call. More bytes go to memcpy.
[[gnu::always_inline]] inline void small_copy(void* destination, const void* source, std::uint64_t bytes) {
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  const auto ends = [&]<class Word>(Word) {
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
  };
  // Vectors, since compilers copy a struct by way of the stack, in other widths than it is then read in.
  using Words2 [[gnu::vector_size(16)]] = std::uint64_t;
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    Words2 words[4];
    std::memcpy(&words[0], from, 16);
    std::memcpy(&words[1], from + 16, 16);
    std::memcpy(&words[2], from + bytes - 32, 16);
    std::memcpy(&words[3], from + bytes - 16, 16);
    std::memcpy(to, &words[0], 16);
    std::memcpy(to + 16, &words[1], 16);
    std::memcpy(to + bytes - 32, &words[2], 16);
    std::memcpy(to + bytes - 16, &words[3], 16);
  } else if (bytes >= 16) ends(Words2{});
  else if (bytes >= 8) ends(std::uint64_t{});
  else if (bytes >= 4) ends(std::uint32_t{});
  else if (bytes >= 2) ends(std::uint16_t{});
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
  if (bytes <= inline_payload) {  // most such calls, and those where it shows
    fill_line(*lines, source, bytes, flag);
    return demote_lines(lines, sizeof(InlineLine));
  }
  InlineLine* const first = lines;
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

// What a rank of several hosts shows its neighbours in shrink(), in its segment: what it knows of all words, and where to meet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "executor/slot_layout.hpp"

namespace rondo {

/// The words of all ranks follow, as Hearsay::table() has them. It becomes memory when shrink() begins.
struct Board {
  static constexpr std::size_t text_words = 17;  ///< an id, and a zero behind it
  SharedWord begun;    ///< the attempt whose text is there, or being written
  SharedWord attempt;  ///< the attempt whose text is there; 0: none
  SharedWord text[text_words];

  SharedWord& word(std::uint32_t rank) { return reinterpret_cast<SharedWord*>(this + 1)[rank]; }
};

inline std::uint64_t board_bytes(std::uint32_t ranks) { return (sizeof(Board) + ranks * sizeof(SharedWord) + 4095) / 4096 * 4096; }

}  // namespace rondo

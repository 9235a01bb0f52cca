// The blocks of one all_to_all_v call: only the ranks at both ends of a pair know how long theirs are (0007-variable-blocks.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo {

struct Block {
  std::uint64_t offset = 0;  ///< bytes from the beginning of the caller's buffer
  std::uint64_t bytes = 0;
};

/// By the rank at the other end.
struct BlockTable {
  std::vector<Block> sent;
  std::vector<Block> received;
};

/// How many pieces of `piece_bytes` the longest of this rank's blocks has; at least one.
inline std::uint64_t pieces_of(const BlockTable& blocks, std::uint64_t piece_bytes) {
  std::uint64_t longest = 1;
  for (const auto* table : {&blocks.sent, &blocks.received})
    for (const Block& block : *table) longest = std::max(longest, block.bytes);
  return (longest + piece_bytes - 1) / piece_bytes;
}

}  // namespace rondo

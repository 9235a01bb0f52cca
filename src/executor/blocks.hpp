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

/// Whether a block for or from another rank is copied whole by the kernel, and not through slots. `from`: bytes of the shortest one that is; 0: none.
inline bool goes_by_rendezvous(const Block& block, std::uint64_t from) { return from != 0 && block.bytes >= from; }

/// How many pieces of `piece_bytes` the longest of the blocks of rank `own` has; at least one.
inline std::uint64_t pieces_of(const BlockTable& blocks, std::uint32_t own, std::uint64_t piece_bytes, std::uint64_t rendezvous_from) {
  std::uint64_t longest = 1;
  for (const auto* table : {&blocks.sent, &blocks.received})
    for (std::uint32_t rank = 0; rank < table->size(); ++rank)
      if (const Block& block = (*table)[rank]; rank == own || !goes_by_rendezvous(block, rendezvous_from)) longest = std::max(longest, block.bytes);
  return (longest + piece_bytes - 1) / piece_bytes;
}

}  // namespace rondo

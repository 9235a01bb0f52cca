// The blocks of an all_to_all_v as a rank gives them, judged and laid out in bytes.
#pragma once

#include <cstdint>

#include "executor/blocks.hpp"
#include "rondo/communicator.hpp"
#include "rondo/result.hpp"
#include "rondo/types.hpp"

namespace rondo {

/// A call of one rank.
struct GivenBlocks {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  const void* input = nullptr;
  const Blocks& sent;
  const void* output = nullptr;
  const Blocks& received;
  DataType type = DataType::u8;
};

/// Errors: invalid_argument names the block.
Result<BlockTable> lay_out_blocks(const GivenBlocks& given);

}  // namespace rondo

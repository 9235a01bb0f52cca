// Chunks that a copy takes at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rondo/plan.hpp"

namespace rondo {

/// Of a copy of several chunks from one user buffer to another, which follow one another in a block of either: their bytes, up to as many as a piece may have.
/// 0: of any other step. `count`: elements of a block.
inline std::uint64_t bytes_of_run(const PlanHeader& header, std::uint64_t count, std::size_t element_bytes, const Step& step) {
  if (step.kind != StepKind::copy || step.destinations.size() != 1 || step.sources[0].count == 1) return 0;
  std::uint64_t shorter = ~std::uint64_t{0};
  for (const Operand* operand : {&step.sources[0], &step.destinations[0]}) {
    const std::uint32_t last = operand->index + operand->count - 1;
    const bool user = operand->buffer == Buffer::input || operand->buffer == Buffer::output;
    if (!user || operand->index / header.chunks_per_block != last / header.chunks_per_block) return 0;
    const ElementRange first = chunk_range(header, count, element_bytes, operand->index), end = chunk_range(header, count, element_bytes, last);
    shorter = std::min<std::uint64_t>(shorter, (end.begin + end.count - first.begin) * element_bytes);
  }
  return shorter <= header.piece_bytes ? shorter : 0;
}

}  // namespace rondo

// Who has which buffers, and where chunks begin.
#include <algorithm>

#include "rondo/plan.hpp"

namespace rondo {

std::uint32_t input_chunks(const PlanHeader& header) {
  if (header.collective == Collective::barrier) return 0;
  return block_counts(header.collective, header.ranks).input * header.chunks_per_block;
}

std::uint32_t output_chunks(const PlanHeader& header) {
  if (header.collective == Collective::barrier) return 0;
  return block_counts(header.collective, header.ranks).output * header.chunks_per_block;
}

bool has_input(Collective collective, std::uint32_t root, std::uint32_t rank) {
  switch (collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return rank == root;
    case Collective::send_recv:
      return rank == 0;
    case Collective::barrier:
      return false;
    default:
      return true;
  }
}

bool has_output(Collective collective, std::uint32_t root, std::uint32_t rank) {
  switch (collective) {
    case Collective::reduce:
    case Collective::gather:
      return rank == root;
    case Collective::send_recv:
      return rank == 1;
    case Collective::barrier:
      return false;
    default:
      return true;
  }
}

ElementRange chunk_range(const PlanHeader& header, std::uint64_t block_count, std::size_t element_bytes,
                         std::uint32_t chunk) {
  const std::uint64_t chunks = header.chunks_per_block;
  const std::uint64_t aligned = std::max<std::uint64_t>(1, header.alignment_bytes / element_bytes);
  // A block too short for an aligned unit a chunk is dealt out by elements: in no chunk would a plan's steps move nothing,
  // and a wrong one look right, while there is an element for each.
  const std::uint64_t unit = block_count > (chunks - 1) * aligned ? aligned : 1;
  const std::uint64_t units = (block_count + unit - 1) / unit;
  const std::uint64_t block = chunk / chunks;
  const std::uint64_t k = chunk % chunks;
  const std::uint64_t each = units / chunks;
  const std::uint64_t more = units % chunks;
  const auto boundary = [&](std::uint64_t j) { return std::min(block_count, unit * (j * each + std::min(j, more))); };
  return {block * block_count + boundary(k), boundary(k + 1) - boundary(k)};
}

}  // namespace rondo

#include "communicator/blocks_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "communicator/check.hpp"

namespace rondo {
namespace {

/// One side of an all_to_all_v in bytes.
Result<std::vector<Block>> lay_out(const Blocks& blocks, const std::string& side, std::uint32_t ranks, DataType type) {
  const auto amiss = [&](const std::string& what) { return wrong_call("all_to_all_v, blocks " + side + ": " + what); };
  if (blocks.counts.size() != ranks) return amiss(std::to_string(blocks.counts.size()) + " counts for " + std::to_string(ranks) + " ranks");
  if (!blocks.offsets.empty() && blocks.offsets.size() != ranks)
    return amiss(std::to_string(blocks.offsets.size()) + " offsets for " + std::to_string(ranks) + " ranks; accepted: one for each, or none");
  const std::uint64_t limit = (std::uint64_t{1} << 62) / size_of(type);
  std::vector<Block> table(ranks);
  std::uint64_t next = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t count = blocks.counts[rank];
    const std::uint64_t offset = blocks.offsets.empty() ? next : blocks.offsets[rank];
    if (count > limit || offset > limit - count)
      return amiss("block " + std::to_string(rank) + ", " + std::to_string(count) + " elements at " + std::to_string(offset) + ", ends beyond 2^62 bytes");
    table[rank] = {offset * size_of(type), count * size_of(type)};
    next = offset + count;
  }
  return table;
}

/// The memory of a block.
struct BlockRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t rank = 0;
};

/// The blocks that have any elements, by where they lie.
std::vector<BlockRange> ranges_of(const void* buffer, const std::vector<Block>& blocks) {
  const auto base = reinterpret_cast<std::uintptr_t>(buffer);
  std::vector<BlockRange> ranges;
  for (std::uint32_t rank = 0; rank < blocks.size(); ++rank)
    if (blocks[rank].bytes != 0) ranges.push_back({base + blocks[rank].offset, base + blocks[rank].offset + blocks[rank].bytes, rank});
  std::sort(ranges.begin(), ranges.end(), [](const BlockRange& one, const BlockRange& other) { return one.begin < other.begin; });
  return ranges;
}

/// Two blocks that would be written into one place, or one that would be while it is read. What lies between blocks is nobody's affair.
std::optional<std::string> find_overlap(const std::vector<BlockRange>& read, const std::vector<BlockRange>& written) {
  for (std::size_t k = 1; k < written.size(); ++k)
    if (written[k - 1].end > written[k].begin)
      return "the blocks received from ranks " + std::to_string(written[k - 1].rank) + " and " + std::to_string(written[k].rank) + " overlap";
  for (const BlockRange& range : read) {
    const auto next = std::upper_bound(written.begin(), written.end(), range.begin, [](std::uintptr_t at, const BlockRange& one) { return at < one.end; });
    if (next != written.end() && next->begin < range.end)
      return "input and output overlap, where the block for rank " + std::to_string(range.rank) + " and the one from rank " + std::to_string(next->rank) +
             " lie; accepted: memory of its own for each";
  }
  return std::nullopt;
}

}  // namespace

Result<BlockTable> lay_out_blocks(const GivenBlocks& given) {
  if (static_cast<std::size_t>(given.type) >= data_type_count) return wrong_call("unknown type " + std::to_string(static_cast<int>(given.type)));
  auto out = lay_out(given.sent, "sent", given.ranks, given.type);
  if (!out) return out.error();
  auto in = lay_out(given.received, "received", given.ranks, given.type);
  if (!in) return in.error();
  if ((*out)[given.rank].bytes != (*in)[given.rank].bytes)
    return wrong_call("all_to_all_v: rank " + std::to_string(given.rank) + " sends " + std::to_string((*out)[given.rank].bytes) +
                      " bytes to itself and receives " + std::to_string((*in)[given.rank].bytes));
  const auto read = ranges_of(given.input, *out);
  const auto written = ranges_of(given.output, *in);
  for (const auto& [ranges, buffer, name] : {std::tuple{&read, given.input, "input"}, std::tuple{&written, given.output, "output"}}) {
    if (ranges->empty()) continue;
    if (buffer == nullptr) return wrong_call(std::string("all_to_all_v: ") + name + " is null, and there are blocks in it");
    if (reinterpret_cast<std::uintptr_t>(buffer) % size_of(given.type) != 0)
      return wrong_call(std::string("all_to_all_v: ") + name + " is not aligned to its elements (" + std::to_string(size_of(given.type)) + " bytes)");
  }
  if (auto overlap = find_overlap(read, written)) return wrong_call("all_to_all_v: " + *overlap);
  return BlockTable{std::move(*out), std::move(*in)};
}

}  // namespace rondo

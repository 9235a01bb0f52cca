// The arguments of a call, before anything runs. A key is checked once, when its plan is prepared; pointers at every call.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "communicator/check.hpp"
#include "communicator/impl.hpp"
#include "executor/integer_scale.hpp"

namespace rondo {
namespace {

const char* const plan_out_of_place = "the imported plan is for separate buffers only (inplace=0); this call is in place";
const char* const plan_in_place = "the imported plan is for calls in place only (outofplace=0); this call has separate buffers";

std::optional<Error> too_many(std::uint64_t count, std::uint32_t blocks, DataType type) {
  const std::uint64_t limit = std::uint64_t{1} << 62;
  if (count <= limit / blocks / size_of(type)) return std::nullopt;
  return wrong_call("count " + std::to_string(count) + " of " + std::string(to_string(type)) + " is more than 2^62 bytes");
}

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

std::optional<Error> wrong_key(const PlanKey& key, std::uint32_t ranks) {
  if (static_cast<std::size_t>(key.collective) >= collective_count)
    return wrong_call("unknown collective " + std::to_string(static_cast<int>(key.collective)));
  if (key.collective == Collective::all_to_all_v && key.count == no_blocks)
    return wrong_call("a Call has no blocks for all_to_all_v; call all_to_all_v(input, sent, output, received, type)");
  if (static_cast<std::size_t>(key.type) >= data_type_count) return wrong_call("unknown type " + std::to_string(static_cast<int>(key.type)));
  if (static_cast<std::size_t>(key.op) >= reduce_op_count) return wrong_call("unknown operation " + std::to_string(static_cast<int>(key.op)));
  if (is_rooted(key.collective) && key.root >= ranks)
    return wrong_call("root " + std::to_string(key.root) + " is not below " + std::to_string(ranks) + " ranks");
  if (is_reduction(key.collective) && !is_defined(key.op, key.type))
    return wrong_call(std::string(to_string(key.op)) + " is not defined on " + std::string(to_string(key.type)) + "; accepted: integer types");
  if (is_reduction(key.collective) && !is_defined(key.op, key.collective))
    return wrong_call(std::string(to_string(key.op)) + " is not defined for " + std::string(to_string(key.collective)));
  const BlockCounts blocks = block_counts(key.collective, ranks);
  return too_many(key.count, std::max(blocks.input, blocks.output), key.type);
}

Error wrong_pointers(const PointerRule& rule, const CallIdentity& call, const void* input, const void* output) {
  const std::string with_count = ", with count " + std::to_string(call.count);
  if (rule.reads && input == nullptr) return wrong_call("input is null" + with_count);
  if (rule.writes && output == nullptr) return wrong_call("output is null" + with_count);
  const auto misaligned = [&](const void* pointer) { return (reinterpret_cast<std::uintptr_t>(pointer) & rule.alignment_mask) != 0; };
  if ((rule.reads && misaligned(input)) || (rule.writes && misaligned(output)))
    return wrong_call("a buffer is not aligned to its elements (" + std::to_string(size_of(call.type)) + " bytes)");
  const auto in = reinterpret_cast<std::uintptr_t>(input) + rule.output_shift;
  const auto out = reinterpret_cast<std::uintptr_t>(output) + rule.input_shift;
  if (in == out) return wrong_call(plan_out_of_place);
  if (!rule.out_of_place) return wrong_call(plan_in_place);
  return wrong_call("input and output overlap in a way that is not in place; accepted: separate buffers, or the same memory (all_gather, gather: input is "
                    "this rank's block of the output; reduce_scatter, scatter: output is this rank's block of the input)");
}

/// Integers are multiplied by what the factor has before its point.
std::optional<Error> wrong_scale(ReduceOp op, DataType type, double scale) {
  const bool floating = type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 || type == DataType::f64;
  if (op != ReduceOp::premul_sum || floating || fits_integers(scale)) return std::nullopt;
  return wrong_call("premul_sum of " + std::string(to_string(type)) + " with the factor " + std::to_string(scale) +
                    "; accepted: at least -2^63 and below 2^63");
}

/// Of a list, whose pointers were judged when it was made a table.
std::optional<Error> Communicator::Impl::wrong_placement(const PointerRule& rule, const SegmentTable& table) {
  const auto in_place = [](const Segment& segment) { return segment.in_place(); };
  if (!rule.in_place && std::any_of(table.segments.begin(), table.segments.end(), in_place)) return wrong_call(plan_out_of_place);
  if (!rule.out_of_place && !std::all_of(table.segments.begin(), table.segments.end(), in_place)) return wrong_call(plan_in_place);
  return std::nullopt;
}

/// Signals are counted in 24 bits (0004-slot-protocol.md); of equal blocks compile() sees to that.
std::optional<Error> Communicator::Impl::too_many_pieces(const Executable& executable, const BlockTable& blocks) {
  std::uint64_t signals = 1;
  for (const ExecLane& lane : executable.lanes) signals = std::max<std::uint64_t>(signals, lane.signals);
  const std::uint64_t most = max_signals / signals - executable.turns - 1;
  if (pieces_of(blocks, executable.piece_bytes) < most) return std::nullopt;
  return Error{Errc::unsupported, "all_to_all_v: a block is longer than the " + std::to_string((most - 1) * executable.piece_bytes) +
                                      " bytes that this many ranks and slots of " + std::to_string(executable.piece_bytes) +
                                      " bytes serve (RONDO_STAGING_BYTES makes them larger)", 0, "call"};
}

Result<BlockTable> Communicator::Impl::block_table(const void* input, const Blocks& sent, const void* output, const Blocks& received, DataType type) const {
  if (static_cast<std::size_t>(type) >= data_type_count) return wrong_call("unknown type " + std::to_string(static_cast<int>(type)));
  auto out = lay_out(sent, "sent", size(), type);
  if (!out) return out.error();
  auto in = lay_out(received, "received", size(), type);
  if (!in) return in.error();
  if ((*out)[rank()].bytes != (*in)[rank()].bytes)
    return wrong_call("all_to_all_v: rank " + std::to_string(rank()) + " sends " + std::to_string((*out)[rank()].bytes) + " bytes to itself and receives " +
                      std::to_string((*in)[rank()].bytes));
  const auto read = ranges_of(input, *out);
  const auto written = ranges_of(output, *in);
  for (const auto& [ranges, buffer, name] : {std::tuple{&read, input, "input"}, std::tuple{&written, static_cast<const void*>(output), "output"}}) {
    if (ranges->empty()) continue;
    if (buffer == nullptr) return wrong_call(std::string("all_to_all_v: ") + name + " is null, and there are blocks in it");
    if (reinterpret_cast<std::uintptr_t>(buffer) % size_of(type) != 0)
      return wrong_call(std::string("all_to_all_v: ") + name + " is not aligned to its elements (" + std::to_string(size_of(type)) + " bytes)");
    for (const BlockRange& range : *ranges)
      if (auto fault = fault_of_memory(reinterpret_cast<const void*>(range.begin), range.end - range.begin))
        return wrong_call(std::string("all_to_all_v: in ") + name + " the block of rank " + std::to_string(range.rank) + *fault);
  }
  if (auto overlap = find_overlap(read, written)) return wrong_call("all_to_all_v: " + *overlap);
  return BlockTable{std::move(*out), std::move(*in)};
}

/// A message in memory that was freed, or that ends behind its memory.
std::optional<Error> Communicator::Impl::fault_of_message(const void* data, std::uint64_t count, DataType type) const {
  if (static_cast<std::size_t>(type) >= data_type_count || too_many(count, 1, type)) return std::nullopt;  // said of the key
  auto fault = fault_of_memory(data, count * size_of(type));
  if (!fault) return std::nullopt;
  return wrong_call("the message" + *fault + ", with count " + std::to_string(count));
}

Result<Task> Communicator::Impl::pair_task(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t peer,
                                             std::uint32_t tag) const {
  if (peer >= size()) return wrong_call("peer " + std::to_string(peer) + " is not below " + std::to_string(size()) + " ranks");
  if (peer == rank()) return wrong_call("rank " + std::to_string(peer) + " can't send to or receive from itself");
  const void* const data = input != nullptr ? input : output;
  if (auto fault = fault_of_message(data, count, type)) return *fault;
  return Task{message_key(count, type, tag), Binding{input, output, 1}};
}

}  // namespace rondo

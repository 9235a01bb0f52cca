// The arguments of a call, before anything runs. A key is checked once, when its plan is prepared; pointers at every call.
#include <algorithm>
#include <string>
#include <utility>

#include "communicator/blocks_check.hpp"
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

std::optional<Error> wrong_timeout(std::chrono::nanoseconds timeout, std::uint32_t rank) {
  if (timeout.count() > 0) return std::nullopt;
  return Error{Errc::invalid_argument, "a timeout of " + std::to_string(timeout.count()) + " ns; accepted: above 0", 0, "rank " + std::to_string(rank)};
}

/// Integers are multiplied by what the factor has before its point.
std::optional<Error> wrong_scale(ReduceOp op, DataType type, double scale) {
  const bool floating = type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 || type == DataType::f64;
  if (op != ReduceOp::premul_sum || floating || fits_integers(scale)) return std::nullopt;
  return wrong_call("premul_sum of " + std::string(to_string(type)) + " with the factor " + std::to_string(scale) +
                    "; accepted: at least -2^63 and below 2^63");
}

std::optional<Error> wrong_placement(const PointerRule& rule, bool some_in_place, bool all_in_place) {
  if (!rule.in_place && some_in_place) return wrong_call(plan_out_of_place);
  if (!rule.out_of_place && !all_in_place) return wrong_call(plan_in_place);
  return std::nullopt;
}

std::optional<Error> wrong_placement(const PointerRule& rule, const SegmentTable& table) {
  const auto in_place = [](const Segment& segment) { return segment.in_place(); };
  return wrong_placement(rule, std::any_of(table.segments.begin(), table.segments.end(), in_place),
                         std::all_of(table.segments.begin(), table.segments.end(), in_place));
}

/// Signals are counted in 24 bits (0004-slot-protocol.md); of equal blocks compile() sees to that.
std::optional<Error> Communicator::Impl::too_many_pieces(const Executable& executable, const BlockTable& blocks) const {
  std::uint64_t signals = 1;
  for (const ExecLane& lane : executable.lanes) signals = std::max<std::uint64_t>(signals, lane.signals);
  const std::uint64_t most = max_signals / signals - executable.turns - 1;
  if (pieces_of(blocks, rank(), executable.piece_bytes, executable.rendezvous_from) < most) return std::nullopt;
  return Error{Errc::unsupported, "all_to_all_v: a block is longer than the " + std::to_string((most - 1) * executable.piece_bytes) +
                                      " bytes that this many ranks and slots of " + std::to_string(executable.piece_bytes) +
                                      " bytes serve (RONDO_STAGING_BYTES makes them larger)", 0, "call"};
}

Result<BlockTable> Communicator::Impl::block_table(const void* input, const Blocks& sent, const void* output, const Blocks& received, DataType type) const {
  auto table = lay_out_blocks({rank(), size(), input, sent, output, received, type});
  if (!table) return table;
  const auto fault_in = [&](const std::string& name, const void* buffer, const std::vector<Block>& blocks) -> std::optional<Error> {
    for (std::uint32_t rank = 0; rank < blocks.size(); ++rank)
      if (blocks[rank].bytes != 0)
        if (auto fault = fault_of_memory(static_cast<const std::byte*>(buffer) + blocks[rank].offset, blocks[rank].bytes))
          return wrong_call("all_to_all_v: in " + name + " the block of rank " + std::to_string(rank) + *fault);
    return std::nullopt;
  };
  if (auto fault = fault_in("input", input, table->sent)) return *fault;
  if (auto fault = fault_in("output", output, table->received)) return *fault;
  return table;
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

// The arguments of a call, before anything runs. A key is checked once, when its plan is prepared; pointers at every call.
#include <string>

#include "communicator/impl.hpp"

namespace rondo {
namespace {

Error wrong(const std::string& detail) { return Error{Errc::invalid_argument, detail, 0, "call"}; }

std::optional<Error> too_many(std::uint64_t count, std::uint32_t blocks, DataType type) {
  const std::uint64_t limit = std::uint64_t{1} << 62;
  if (count <= limit / blocks / size_of(type)) return std::nullopt;
  return wrong("count " + std::to_string(count) + " of " + std::string(to_string(type)) + " is more than 2^62 bytes");
}

}  // namespace

std::optional<Error> Communicator::Impl::wrong_key(const PlanKey& key) const {
  if (static_cast<std::size_t>(key.collective) >= collective_count || key.collective == Collective::all_to_all)
    return wrong("collective " + std::to_string(static_cast<int>(key.collective)) +
                 " is not served; accepted: all_reduce, reduce, broadcast, reduce_scatter, all_gather, barrier");
  if (static_cast<std::size_t>(key.type) >= data_type_count) return wrong("unknown type " + std::to_string(static_cast<int>(key.type)));
  if (static_cast<std::size_t>(key.op) >= reduce_op_count) return wrong("unknown operation " + std::to_string(static_cast<int>(key.op)));
  if (key.root >= size()) return wrong("root " + std::to_string(key.root) + " is not below " + std::to_string(size()) + " ranks");
  if (is_reduction(key.collective) && !is_defined(key.op, key.type))
    return wrong(std::string(to_string(key.op)) + " is not defined on " + std::string(to_string(key.type)) + "; accepted: integer types");
  const BlockCounts blocks = block_counts(key.collective, size());
  return too_many(key.count, std::max(blocks.input, blocks.output), key.type);
}

Error Communicator::Impl::wrong_pointers(const PreparedPlan& prepared, const Binding& binding) const {
  const PointerRule& rule = prepared.rule;
  const CallIdentity& call = prepared.identity;
  const std::string with_count = ", with count " + std::to_string(call.count);
  if (rule.reads && binding.input == nullptr) return wrong("input is null" + with_count);
  if (rule.writes && binding.output == nullptr) return wrong("output is null" + with_count);
  const auto misaligned = [&](const void* pointer) { return (reinterpret_cast<std::uintptr_t>(pointer) & rule.alignment_mask) != 0; };
  if ((rule.reads && misaligned(binding.input)) || (rule.writes && misaligned(binding.output)))
    return wrong("a buffer is not aligned to its elements (" + std::to_string(size_of(call.type)) + " bytes)");
  const auto in = reinterpret_cast<std::uintptr_t>(binding.input) + rule.output_shift;
  const auto out = reinterpret_cast<std::uintptr_t>(binding.output) + rule.input_shift;
  if (in == out) return wrong("the imported plan is for separate buffers only (inplace=0); this call is in place");
  if (!rule.out_of_place) return wrong("the imported plan is for calls in place only (outofplace=0); this call has separate buffers");
  return wrong("input and output overlap in a way that is not in place; accepted: separate buffers, or the same memory (all_gather: input is this "
               "rank's block of the output; reduce_scatter: output is this rank's block of the input)");
}

Result<Task> Communicator::Impl::pair_task(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t peer) const {
  if (peer >= size()) return wrong("peer " + std::to_string(peer) + " is not below " + std::to_string(size()) + " ranks");
  if (peer == rank()) return wrong("rank " + std::to_string(peer) + " can't send to or receive from itself");
  return Task{PlanKey{count, 0, Collective::send_recv, type, ReduceOp::sum}, Binding{input, output, 1}};
}

}  // namespace rondo

// Small started all_reduces that follow one another become one call on a list (docs/design/0012-fused-buckets.md). How many is what the ranks agree on: none
// may be asked for a call that it hasn't started. The agreement is an all_reduce too, of how many each rank has.
#include <algorithm>

#include "base/clock.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

constexpr std::size_t most_members = 256;

std::uint64_t bytes_of(const Operation& operation) { return operation.task.key.count * size_of(operation.task.key.type); }

MemoryRange range_of(const void* memory, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return {begin, begin + bytes};
}

/// Whether its buffers are such that nothing has to be said about them.
bool well_placed(const Operation& operation) {
  const Binding& binding = operation.task.binding;
  const std::uint64_t bytes = bytes_of(operation), element = size_of(operation.task.key.type);
  if (binding.input == nullptr || binding.output == nullptr) return false;
  const MemoryRange in = range_of(binding.input, bytes), out = range_of(binding.output, bytes);
  return in.begin % element == 0 && out.begin % element == 0 && (binding.input == binding.output || in.end <= out.begin || out.end <= in.begin);
}

bool alike(const PlanKey& a, const PlanKey& b) { return a.type == b.type && a.op == b.op; }

/// Adds a range to those that are there, sorted. False, and nothing is added, where it meets one of them.
bool add_apart(std::vector<MemoryRange>& ranges, const MemoryRange& range) {
  const auto behind = std::lower_bound(ranges.begin(), ranges.end(), range.begin, [](const MemoryRange& one, std::uintptr_t at) { return one.begin < at; });
  if (behind != ranges.end() && behind->begin < range.end) return false;
  if (behind != ranges.begin() && (behind - 1)->end > range.begin) return false;
  ranges.insert(behind, range);
  return true;
}

/// Calls run in order, so those that do their work at once must have memory of their own each.
bool add_apart(std::vector<MemoryRange>& ranges, const Operation& operation) {
  const Binding& binding = operation.task.binding;
  const std::uint64_t bytes = bytes_of(operation);
  if (!add_apart(ranges, range_of(binding.output, bytes))) return false;
  return binding.input == binding.output || add_apart(ranges, range_of(binding.input, bytes));
}

}  // namespace

bool Communicator::Impl::is_small(const PlanKey& key) const {
  if (key.collective != Collective::all_reduce || key.wire || key.count == 0) return false;
  if (static_cast<std::size_t>(key.type) >= data_type_count || static_cast<std::size_t>(key.op) >= reduce_op_count) return false;
  if (key.op == ReduceOp::premul_sum || !is_defined(key.op, key.type)) return false;
  return key.count < coalesce_below_ / size_of(key.type);
}

/// Follows from its key, so that all ranks agree before the same calls.
bool Communicator::Impl::is_coalesced(const Operation& operation) const { return !operation.alone && !operation.begun && is_small(operation.task.key); }

/// Takes those that have come since into the head, as far as they join it.
void Communicator::Impl::extend_head(const Channel& channel) {
  for (; !head_.closed && head_.operations < channel.queue.size(); ++head_.operations) {
    const Operation& operation = *channel.queue[head_.operations];
    const std::uint64_t bytes = head_.bytes + bytes_of(operation);
    const bool plain = operation.task.binding.segments == nullptr && well_placed(operation);
    if (head_.operations == 0 && !plain) {  // a list, or nonsense: by itself
      head_.operations = 1;
      head_.closed = true;
      return;
    }
    const bool fits = head_.operations == 0 || (bytes <= coalesce_below_ && head_.operations < most_members);
    if (!fits || !plain || !is_coalesced(operation) || !alike(operation.task.key, channel.queue.front()->task.key) || !add_apart(head_.memory, operation)) {
      head_.closed = true;
      return;
    }
    head_.bytes = bytes;
  }
}

/// The operation at the head may be one of several: puts the ranks' agreement before it. False: it waits for others to come.
bool Communicator::Impl::agree_on_batch(Channel& channel) {
  Operation& first = *channel.queue.front();
  if (broken_.load(std::memory_order_acquire)) {
    first.alone = true;  // it learns why
    head_ = {};
    return true;
  }
  extend_head(channel);
  const std::int64_t hold_ns = parts_.options.coalesce_time.count();
  const bool in_haste = waiters_.load(std::memory_order_relaxed) != 0 || draining_.load(std::memory_order_relaxed);
  if (!head_.closed && hold_ns > 0 && !in_haste) {
    const std::int64_t now = now_ns();
    if (first.held_since_ns == 0) first.held_since_ns = now;
    if (now - first.held_since_ns < hold_ns) return false;
  }
  auto agreement = std::make_shared<Operation>();
  agreement->alone = true;
  agreement->batch = std::make_unique<Batch>();
  agreement->batch->agreed = head_.operations;
  std::uint64_t* agreed = &agreement->batch->agreed;
  agreement->task = Task{PlanKey{1, 0, Collective::all_reduce, DataType::u64, ReduceOp::min}, Binding{agreed, agreed}};
  put_first(channel, std::move(agreement));
  return true;
}

void Communicator::Impl::put_first(Channel& channel, std::shared_ptr<Operation> operation) {
  channel.queue.push_front(std::move(operation));
  pending_.fetch_add(1, std::memory_order_relaxed);
}

/// The members of a batch get its result. One that couldn't begin, on any rank, since no plan serves so much, leaves each of them to itself.
void Communicator::Impl::end_members(Channel& channel, const Operation& ended) {
  const auto& members = ended.batch->members;
  const bool by_themselves = ended.error && !ended.begun && !broken_.load(std::memory_order_acquire);
  for (auto member = members.rbegin(); by_themselves && member != members.rend(); ++member) {
    (*member)->alone = true;
    channel.queue.push_front(*member);
  }
  for (auto member = members.begin(); !by_themselves && member != members.end(); ++member) end(**member, ended.error);
}

/// An agreement or a batch has ended, and has left the queue.
void Communicator::Impl::end_batch(Channel& channel, const Operation& ended) {
  const Batch& batch = *ended.batch;
  if (!batch.members.empty()) return end_members(channel, ended);
  // Each rank has said how many it has, so all have as many as agreed. A broken plan that is run unverified may say anything.
  const std::size_t count = ended.error ? 1 : std::min<std::size_t>(static_cast<std::size_t>(batch.agreed), head_.operations);
  head_ = {};
  if (count <= 1) {
    channel.queue.front()->alone = true;
    return;
  }
  auto together = std::make_shared<Operation>();
  together->alone = true;
  together->batch = std::make_unique<Batch>();
  SegmentTable table;
  for (std::size_t k = 0; k < count; ++k) {
    const Binding& binding = channel.queue.front()->task.binding;
    table.add(binding.input, binding.output, bytes_of(*channel.queue.front()));
    together->batch->lengths = (together->batch->lengths ^ channel.queue.front()->task.key.count) * 0x9e3779b97f4a7c15u + 1;
    together->batch->members.push_back(std::move(channel.queue.front()));
    channel.queue.pop_front();
  }
  PlanKey key = together->batch->members.front()->task.key;
  key.count = table.bytes() / size_of(key.type);
  together->segments = std::make_unique<const SegmentTable>(std::move(table));
  together->task = Task{key, Binding{nullptr, nullptr, 1, nullptr, together->segments.get()}};
  put_first(channel, std::move(together));
}

}  // namespace rondo

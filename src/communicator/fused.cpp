// all_reduce_fused: what runs is the all_reduce of all elements of its list (docs/design/0012-fused-buckets.md).
#include "communicator/bucket.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

Task task_of(const Bucket& bucket, const SegmentTable& table) {
  return Task{key_of(bucket, table), Binding{nullptr, nullptr, bucket.scale, nullptr, &table}};
}

/// An operation that keeps its list.
std::shared_ptr<Operation> operation_of(const Bucket& bucket, SegmentTable table) {
  auto operation = std::make_shared<Operation>();
  operation->segments = std::make_unique<const SegmentTable>(std::move(table));
  operation->task = task_of(bucket, *operation->segments);
  return operation;
}

}  // namespace

/// The bucket's list, once nothing is wrong with it.
Result<SegmentTable> Communicator::Impl::checked_table(const Bucket& bucket) const {
  auto table = table_of(bucket);
  if (!table) return table;
  if (bucket.wire && parts_.options.strict)
    return Error{Errc::unsupported, "a wire type rounds contributions, and this communicator is strict", 0, "all_reduce_fused"};
  for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
    const Tensor& tensor = bucket.tensors[t];
    const std::uint64_t bytes = tensor.count * size_of(bucket.type);
    for (const auto& [memory, name] : {std::pair{tensor.input, "input"}, std::pair{static_cast<const void*>(tensor.output), "output"}})
      if (auto fault = fault_of_memory(memory, bytes)) return wrong_list("tensor " + std::to_string(t) + ": " + name + *fault);
  }
  return table;
}

Result<void> Communicator::Impl::run_fused(const Bucket& bucket) {
  auto table = checked_table(bucket);
  if (!table) return table.error();
  if (in_group()) return group_call(*main_, operation_of(bucket, std::move(*table)));
  return run_channel(*main_, task_of(bucket, *table));
}

Work Communicator::Impl::start_fused(const Bucket& bucket) {
  auto table = checked_table(bucket);
  if (!table) return failed_work(table.error());
  return start_on(Result<Channel*>(main_.get()), operation_of(bucket, std::move(*table)));
}

}  // namespace rondo

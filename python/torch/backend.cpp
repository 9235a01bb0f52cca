#include "backend.hpp"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "backend-inl.hpp"

namespace rondo_torch {

Backend::Backend(const GroupOptions& options, std::vector<std::int64_t> global_ranks, bool for_gloo)
    : c10d::Backend(static_cast<int>(options.rank), static_cast<int>(options.size)), options_(c10::make_intrusive<GlooLikeOptions>("rondo", options.timeout)),
      group_(options), for_gloo_(for_gloo) {
  options_->group_name = options.name;
  options_->global_ranks_in_group.assign(global_ranks.begin(), global_ranks.end());
  init();
}

Backend::~Backend() = default;

SparseSums& Backend::sparse_sums() {
  const std::lock_guard lock(sparse_mutex_);
  if (!sparse_) sparse_ = std::make_unique<SparseSums>(group_);
  return *sparse_;
}

SparseSums* Backend::made_sparse_sums() {
  const std::lock_guard lock(sparse_mutex_);
  return sparse_.get();
}

void Backend::abort() {
  group_.abort();
  if (SparseSums* const made = made_sparse_sums()) made->abort();
}

void Backend::shutdown() {
  if (SparseSums* const made = made_sparse_sums()) made->close();
  group_.close();
}

void Backend::setTimeout(std::chrono::milliseconds timeout) {
  group_.set_timeout(timeout);
  options_->timeout = timeout;
}

CallId Backend::next(const Kind& kind) const {
  // messages are outside the order that all ranks share
  return {&kind, rank_, c10d::isP2POp(kind.type) ? 0 : sequence_.load(std::memory_order_relaxed) + 1};
}

Operation Backend::operation(const CallId& id, Tensors inputs, Tensors outputs) {
  Operation operation;
  operation.id = id;
  operation.for_gloo = for_gloo_;
  if (id.sequence != 0) operation.id.sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
  operation.inputs = std::move(inputs);
  operation.outputs = std::move(outputs);
  return operation;
}

WorkPointer Backend::run(Operation operation, at::ArrayRef<rondo_call> calls, Timing timing) {
  const rondo_call* next = calls.begin();
  return run(
      std::move(operation), timing, [&](rondo_communicator* communicator) { return rondo_run(communicator, next++); },
      [&](rondo_communicator* communicator, rondo_work** started) { return rondo_start(communicator, next++, started); }, calls.size());
}

at::Tensor joined(const Tensors& blocks) {
  const at::AutoDispatchBelowAutograd below;
  const at::Tensor& first = blocks.front();
  const std::int64_t count = first.numel();
  const auto* at = static_cast<const char*>(first.data_ptr());
  bool adjacent = true;
  for (const at::Tensor& block : blocks) {
    adjacent = adjacent && block.is_contiguous() && block.data_ptr() == at && block.is_alias_of(first);
    at += static_cast<std::size_t>(count) * first.element_size();
  }
  if (adjacent) return at::from_blob(first.data_ptr(), {static_cast<std::int64_t>(blocks.size()) * count}, first.options());
  return {};
}

at::Tensor joined_or_copied(const Tensors& blocks) {
  if (at::Tensor together = joined(blocks); together.defined()) return together;
  const at::AutoDispatchBelowAutograd below;
  Tensors flat;
  for (const at::Tensor& block : blocks) flat.push_back(block.reshape({-1}));
  return at::cat(flat);
}

}  // namespace rondo_torch

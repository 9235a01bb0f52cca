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

void Backend::setTimeout(std::chrono::milliseconds timeout) {
  group_.set_timeout(timeout);
  options_->timeout = timeout;
}

Operation Backend::operation(const Kind& kind, Tensors inputs, Tensors outputs) {
  Operation operation;
  operation.kind = &kind;
  operation.for_gloo = for_gloo_;
  operation.rank = rank_;
  // messages are outside the order that all ranks share
  if (!c10d::isP2POp(kind.type)) operation.sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
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

void check_dense(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK_VALUE(tensor.defined(), "rondo: ", what, " is no tensor");
  TORCH_CHECK_VALUE(tensor.device().is_cpu(), "rondo: ", what, " is on ", tensor.device(), "; accepted: cpu");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "rondo: ", what, " has the layout ", tensor.layout(), "; accepted: strided");
}

const at::Tensor& single(const Tensors& tensors, const char* what) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "rondo: ", tensors.size(), " tensors as ", what, "; accepted: one");
  check_dense(tensors.front(), what);
  return tensors.front();
}

void check_types(const at::Tensor& input, const at::Tensor& output, const char* operation) {
  TORCH_CHECK_TYPE(input.scalar_type() == output.scalar_type(), "rondo: ", operation, " of ", input.scalar_type(), " into ", output.scalar_type(),
                   "; accepted: one type");
}

void check_lists(const Tensors& inputs, const Tensors& outputs, const char* operation) {
  TORCH_CHECK_VALUE(!outputs.empty() && outputs.size() == inputs.size(), "rondo: ", inputs.size(), " inputs and ", outputs.size(), " outputs for ", operation,
                    "; accepted: as many of both, at least one");
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

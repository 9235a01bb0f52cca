// Operations that combine.
#include <c10/util/Exception.h>

#include "backend-inl.hpp"
#include "blocks.hpp"

namespace rondo_torch {
namespace {

rondo_call reduction_call(rondo_collective collective, const Reduction& reduction, const at::Tensor& input, at::Tensor& output, std::int64_t elements) {
  rondo_call call{};
  call.size = sizeof call;
  call.collective = collective;
  call.type = reduction.elements.type;
  call.op = reduction.op;
  call.input = input.defined() ? input.data_ptr() : nullptr;
  call.output = output.defined() ? output.data_ptr() : nullptr;
  call.count = static_cast<std::uint64_t>(elements * reduction.elements.per_element);
  call.factor = reduction.factor;
  return call;
}

/// A reduce_scatter into `output`, whose input is still to be set.
rondo_call scatter_call(Operation& operation, const at::Tensor& output, const c10d::ReduceOp& op) {
  const Reduction reduction = reduced(operation.id, output.scalar_type(), op);
  at::Tensor block = operation.received(output);
  return reduction_call(RONDO_REDUCE_SCATTER, reduction, at::Tensor(), block, block.numel());
}

/// The same of one tensor that has a block for each rank.
rondo_call scatter_call(Operation& operation, const at::Tensor& input, const at::Tensor& output, const c10d::ReduceOp& op) {
  rondo_call call = scatter_call(operation, output, op);
  call.input = operation.given(input).data_ptr();
  return call;
}

/// Throws unless `output` is a block of `input`.
void check_scattered(const CallId& id, const at::Tensor& input, const at::Tensor& output, int ranks) {
  check_dense(id, output, "the output");
  check_dense(id, input, "the input");
  TORCH_CHECK_VALUE(input.numel() == output.numel() * ranks, "rondo: ", id, ": ", input.numel(), " elements into ", output.numel(), " by ", ranks,
                    " ranks; accepted: an input as long as all ranks' outputs together");
  check_types(id, input, output);
}

/// What a GPU's blocks take a list of: as many tensors, of such a type. Equal on all ranks.
bool is_device_list(const Tensors& tensors) {
  const auto type = tensors.front().scalar_type();
  return tensors.size() <= 900 && (type == at::kFloat || type == at::kHalf || type == at::kBFloat16);
}

/// Lists of one type: a list operand has one.
rondo_bucket bucket_of(const Tensors& room, const Reduction& reduction, std::vector<rondo_tensor>& list) {
  for (const at::Tensor& tensor : room)
    list.push_back({tensor.data_ptr(), tensor.data_ptr(), static_cast<std::uint64_t>(tensor.numel() * reduction.elements.per_element)});
  rondo_bucket bucket{};
  bucket.size = sizeof bucket;
  bucket.tensors = list.data();
  bucket.tensor_count = list.size();
  bucket.type = reduction.elements.type;
  bucket.op = reduction.op;
  bucket.factor = reduction.factor;
  return bucket;
}

}  // namespace

WorkPointer Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const CallId id = next(kinds::all_reduce);
  if (tensors.size() == 1 && tensors.front().layout() == at::kSparse) return allreduce_sparse(tensors, options);
  const at::Tensor& tensor = single(id, tensors, "tensors");
  const Reduction reduction = reduced(id, tensor.scalar_type(), options.reduceOp);
  Operation operation = this->operation(id, {}, {tensor}, options.asyncOp);
  at::Tensor room = operation.received(tensor, true);
  return run(std::move(operation), reduction_call(RONDO_ALL_REDUCE, reduction, room, room, room.numel()), timing(options));
}

WorkPointer Backend::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  const CallId id = next(kinds::all_reduce_coalesced);
  TORCH_CHECK_VALUE(!tensors.empty(), "rondo: ", id, ": no tensors; accepted: one or more");
  for (const at::Tensor& tensor : tensors) {
    check_dense(id, tensor, "a tensor");
    TORCH_CHECK_TYPE(tensor.scalar_type() == tensors.front().scalar_type(), "rondo: ", id, ": ", tensors.front().scalar_type(), " and ",
                     tensor.scalar_type(), "; accepted: tensors of one type");
  }
  const Reduction reduction = reduced(id, tensors.front().scalar_type(), options.reduceOp);
  Operation operation = this->operation(id, {}, tensors, options.asyncOp);
  Tensors room;
  for (const at::Tensor& tensor : tensors) room.push_back(operation.received(tensor, true));
  if (operation.on && !is_device_list(tensors)) {  // one call after the other, in one stream
    std::vector<rondo_call> calls;
    for (at::Tensor& tensor : room) calls.push_back(reduction_call(RONDO_ALL_REDUCE, reduction, tensor, tensor, tensor.numel()));
    return run(std::move(operation), calls, timing(options));
  }
  std::vector<rondo_tensor> list;
  const rondo_bucket bucket = bucket_of(room, reduction, list);
  if (operation.on) return reduce_on_device(std::move(operation), bucket, options.timeout);
  return run(
      std::move(operation), timing(options), [&](rondo_communicator* communicator) { return rondo_all_reduce_fused(communicator, &bucket); },
      [&](rondo_communicator* communicator, rondo_work** started) { return rondo_start_all_reduce_fused(communicator, &bucket, started); });
}

WorkPointer Backend::average(const at::Tensor& tensor, std::optional<at::ScalarType> wire) {
  const CallId id = next(kinds::all_reduce);
  check_dense(id, tensor, "a tensor");
  const Reduction reduction = reduced(id, tensor.scalar_type(), c10d::ReduceOp::AVG);
  Operation operation = this->operation(id, {}, {tensor}, true);
  Tensors room{operation.received(tensor, true)};
  if (!wire) {
    const rondo_call call = reduction_call(RONDO_ALL_REDUCE, reduction, room.front(), room.front(), tensor.numel());
    return run(std::move(operation), call, {group_.timeout(), true});
  }
  std::vector<rondo_tensor> list;
  rondo_bucket bucket = bucket_of(room, reduction, list);
  bucket.wire = *wire == at::kHalf ? RONDO_WIRE_F16 : RONDO_WIRE_BF16;
  if (operation.on) return reduce_on_device(std::move(operation), bucket, group_.timeout());
  return start(std::move(operation),
               [&](rondo_communicator* communicator, rondo_work** started) { return rondo_start_all_reduce_fused(communicator, &bucket, started); });
}

WorkPointer Backend::reduce_on_device(Operation operation, const rondo_bucket& bucket, std::chrono::milliseconds timeout) {
  return run_on_device(std::move(operation), timeout, [&](rondo_cuda_communicator* communicator, void* stream) {
    return rondo_cuda_all_reduce_fused(communicator, &bucket, stream);
  });
}

WorkPointer Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const CallId id = next(kinds::sparse_all_reduce);
  TORCH_CHECK_VALUE(tensors.size() == 1 && tensors.front().layout() == at::kSparse && tensors.front().device().is_cpu(), "rondo: ", id,
                    ": accepted: one tensor of layout sparse_coo on the cpu");
  TORCH_CHECK_VALUE(options.reduceOp.op_ == c10d::ReduceOp::SUM, "rondo: ", id, ": sparse tensors can be combined by SUM alone");
  (void)group_.communicator(id);  // throws where the group is over
  const auto timeout = is_given(options.timeout) ? options.timeout : group_.timeout();
  const WorkPointer work = sparse_sums().start(operation(id, {}, {tensors.front()}, true), timeout);
  batch_.note(work);
  if (!options.asyncOp) work->wait();
  return work;
}

WorkPointer Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const CallId id = next(kinds::reduce);
  const at::Tensor& tensor = single(id, tensors, "tensors");
  const Reduction reduction = reduced(id, tensor.scalar_type(), options.reduceOp);
  Operation operation = this->operation(id, {}, {tensor}, options.asyncOp);
  const bool is_root = rank_ == options.rootRank;
  at::Tensor room = is_root ? operation.received(tensor, true) : operation.given(tensor);
  at::Tensor output = is_root ? room : at::Tensor();
  rondo_call call = reduction_call(RONDO_REDUCE, reduction, room, output, room.numel());
  call.root = static_cast<std::uint32_t>(options.rootRank);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  const CallId id = next(kinds::reduce_scatter_tensor);
  check_scattered(id, input, output, size_);
  Operation operation = this->operation(id, {input}, {output}, options.asyncOp);
  const rondo_call call = scatter_call(operation, input, output, options.reduceOp);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
  const CallId id = next(kinds::reduce_scatter);
  const at::Tensor& output = single(id, outputs, "outputs");
  TORCH_CHECK_VALUE(inputs.size() == 1 && inputs.front().size() == ranks(), "rondo: ", id, ": takes one list of inputs, with one for each of ", size_,
                    " ranks");
  for (const at::Tensor& input : inputs.front()) {
    check_dense(id, input, "an input");
    TORCH_CHECK_VALUE(input.sizes() == output.sizes() && input.scalar_type() == output.scalar_type(), "rondo: ", id, ": ", input.sizes(), " ",
                      input.scalar_type(), " into ", output.sizes(), " ", output.scalar_type(), "; accepted: inputs like the output");
  }
  Operation operation = this->operation(id, inputs.front(), {output}, options.asyncOp);
  rondo_call call = scatter_call(operation, output, options.reduceOp);
  give_blocks(operation, inputs.front(), call);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  const CallId id = next(kinds::reduce_scatter_tensor);
  check_lists(id, inputs, outputs);
  for (std::size_t t = 0; t < outputs.size(); ++t) check_scattered(id, inputs[t], outputs[t], size_);
  Operation operation = this->operation(id, inputs, outputs, options.asyncOp);
  std::vector<rondo_call> calls;
  for (std::size_t t = 0; t < outputs.size(); ++t) calls.push_back(scatter_call(operation, inputs[t], outputs[t], options.reduceOp));
  return run(std::move(operation), calls, timing(options));
}

}  // namespace rondo_torch

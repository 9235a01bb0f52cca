// Operations that combine.
#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

#include "backend-inl.hpp"

namespace rondo_torch {
namespace {

rondo_call reduction_call(rondo_collective collective, const Reduction& reduction, const at::Tensor& input, at::Tensor& output, std::int64_t elements) {
  rondo_call call{};
  call.size = sizeof call;
  call.collective = collective;
  call.type = reduction.elements.type;
  call.op = reduction.op;
  call.input = input.data_ptr();
  call.output = output.defined() ? output.data_ptr() : nullptr;
  call.count = static_cast<std::uint64_t>(elements * reduction.elements.per_element);
  call.factor = reduction.factor;
  return call;
}

/// A reduce_scatter: `input` has a block for each rank, `output` gets this one's.
rondo_call scatter_call(Operation& operation, const at::Tensor& input, const at::Tensor& output, const c10d::ReduceOp& op) {
  const Reduction reduction = reduced(input.scalar_type(), op);
  const at::Tensor blocks = operation.given(input);
  at::Tensor block = operation.received(output);
  return reduction_call(RONDO_REDUCE_SCATTER, reduction, blocks, block, block.numel());
}

/// Throws unless `output` is a block of `input`.
void check_scattered(const at::Tensor& input, const at::Tensor& output, int ranks) {
  check_dense(output, "the output of reduce_scatter");
  check_dense(input, "the input of reduce_scatter");
  TORCH_CHECK_VALUE(input.numel() == output.numel() * ranks, "rondo: reduce_scatter of ", input.numel(), " elements into ", output.numel(), " by ", ranks,
                    " ranks; accepted: an input as long as all ranks' outputs together");
  check_types(input, output, "reduce_scatter");
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

constexpr std::int64_t most_dimensions = 64;  // of a sparse tensor: torch has no more of any

/// What ranks must agree on, behind what they need not: the number of values; then type, sparse dimensions, all dimensions, sizes.
at::Tensor form_of_sparse(const at::Tensor& tensor) {
  std::vector<std::int64_t> words{tensor._nnz(), static_cast<std::int64_t>(tensor.scalar_type()), tensor.sparse_dim(), tensor.dim()};
  words.insert(words.end(), tensor.sizes().begin(), tensor.sizes().end());
  TORCH_CHECK_VALUE(tensor.dim() <= most_dimensions, "rondo: all_reduce of a sparse tensor of ", tensor.dim(), " dimensions; accepted: ", most_dimensions);
  words.resize(4 + most_dimensions, 0);
  return at::tensor(words, at::kLong);
}

std::string describe_sparse(const at::Tensor& form) {
  const std::int64_t* const words = form.const_data_ptr<std::int64_t>();
  std::ostringstream text;
  text << at::IntArrayRef(words + 4, static_cast<std::size_t>(std::clamp<std::int64_t>(words[3], 0, most_dimensions))) << " of "
       << static_cast<at::ScalarType>(words[1]) << " with " << words[2] << " sparse dimensions";
  return text.str();
}

}  // namespace

WorkPointer Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (tensors.size() == 1 && tensors.front().layout() == at::kSparse) return allreduce_sparse(tensors, options);
  const at::Tensor& tensor = single(tensors, "tensors of all_reduce");
  const Reduction reduction = reduced(tensor.scalar_type(), options.reduceOp);
  Operation operation = this->operation(kinds::all_reduce, {}, {tensor});
  at::Tensor room = operation.received(tensor, true);
  return run(std::move(operation), reduction_call(RONDO_ALL_REDUCE, reduction, room, room, room.numel()), timing(options));
}

WorkPointer Backend::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  TORCH_CHECK_VALUE(!tensors.empty(), "rondo: no tensors for all_reduce_coalesced; accepted: one or more");
  for (const at::Tensor& tensor : tensors) {
    check_dense(tensor, "a tensor of all_reduce_coalesced");
    TORCH_CHECK_TYPE(tensor.scalar_type() == tensors.front().scalar_type(), "rondo: all_reduce_coalesced of ", tensors.front().scalar_type(), " and ",
                     tensor.scalar_type(), "; accepted: tensors of one type");
  }
  const Reduction reduction = reduced(tensors.front().scalar_type(), options.reduceOp);
  Operation operation = this->operation(kinds::all_reduce_coalesced, {}, tensors);
  Tensors room;
  for (const at::Tensor& tensor : tensors) room.push_back(operation.received(tensor, true));
  std::vector<rondo_tensor> list;
  const rondo_bucket bucket = bucket_of(room, reduction, list);
  return run(
      std::move(operation), timing(options), [&](rondo_communicator* communicator) { return rondo_all_reduce_fused(communicator, &bucket); },
      [&](rondo_communicator* communicator, rondo_work** started) { return rondo_start_all_reduce_fused(communicator, &bucket, started); });
}

WorkPointer Backend::average(const at::Tensor& tensor, std::optional<at::ScalarType> wire) {
  check_dense(tensor, "a tensor to be averaged");
  const Reduction reduction = reduced(tensor.scalar_type(), c10d::ReduceOp::AVG);
  Operation operation = this->operation(kinds::all_reduce, {}, {tensor});
  Tensors room{operation.received(tensor, true)};
  if (!wire) {
    const rondo_call call = reduction_call(RONDO_ALL_REDUCE, reduction, room.front(), room.front(), tensor.numel());
    return run(std::move(operation), call, {group_.timeout(), true});
  }
  std::vector<rondo_tensor> list;
  rondo_bucket bucket = bucket_of(room, reduction, list);
  bucket.wire = *wire == at::kHalf ? RONDO_WIRE_F16 : RONDO_WIRE_BF16;
  return start(std::move(operation),
               [&](rondo_communicator* communicator, rondo_work** started) { return rondo_start_all_reduce_fused(communicator, &bucket, started); });
}

/// The sum of sparse tensors: all ranks' indices and values, gathered, and added up where they meet.
WorkPointer Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  TORCH_CHECK_VALUE(tensors.size() == 1 && tensors.front().layout() == at::kSparse && tensors.front().device().is_cpu(),
                    "rondo: all_reduce of sparse tensors takes one tensor of layout sparse_coo on the cpu");
  TORCH_CHECK_VALUE(options.reduceOp.op_ == c10d::ReduceOp::SUM, "rondo: sparse tensors can be combined by SUM alone");
  const at::AutoDispatchBelowAutograd below;
  at::Tensor& tensor = tensors.front();
  const at::Tensor own = tensor.coalesce();
  c10d::AllgatherOptions at_once;
  at_once.asyncOp = false;
  at_once.timeout = options.timeout;
  const at::Tensor form = form_of_sparse(own);
  at::Tensor forms = at::empty({size_ * form.numel()}, at::kLong), mine = form;
  _allgather_base(forms, mine, at_once)->wait();
  forms = forms.view({size_, form.numel()});
  for (int rank = 0; rank < size_; ++rank)
    TORCH_CHECK_WITH(DistBackendError, at::equal(forms[rank].narrow(0, 1, form.numel() - 1), form.narrow(0, 1, form.numel() - 1)),
                     "rondo: all_reduce of sparse tensors that differ: rank ", rank_, " has ", describe_sparse(form), ", rank ", rank, " has ",
                     describe_sparse(forms[rank]), "; accepted: equal shapes, types and numbers of sparse dimensions on all ranks");
  const at::Tensor counts = forms.select(1, 0).contiguous();
  const std::int64_t most = counts.max().item<std::int64_t>();
  const auto padded = [&](const at::Tensor& part) {  // along its first dimension
    auto shape = part.sizes().vec();
    shape[0] = most;
    at::Tensor room = at::zeros(shape, part.options());
    room.narrow(0, 0, part.size(0)).copy_(part);
    return room;
  };
  const auto gathered = [&](const at::Tensor& part) {
    at::Tensor room = padded(part);
    auto shape = room.sizes().vec();
    shape[0] *= size_;
    at::Tensor all = at::empty(shape, part.options());
    _allgather_base(all, room, at_once)->wait();
    Tensors parts;
    for (int rank = 0; rank < size_; ++rank) parts.push_back(all.narrow(0, rank * most, counts[rank].item<std::int64_t>()));
    return at::cat(parts);
  };
  const at::Tensor indices = gathered(own.indices().t().contiguous());
  const at::Tensor values = gathered(own.values());
  const at::Tensor sum = at::sparse_coo_tensor(indices.t(), values, tensor.sizes(), tensor.options()).coalesce();
  tensor.copy_(sum);
  auto work = c10::make_intrusive<RondoWork>(operation(kinds::sparse_all_reduce, {}, {tensor}));
  work->done();
  return work;
}

WorkPointer Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = single(tensors, "tensors of reduce");
  const Reduction reduction = reduced(tensor.scalar_type(), options.reduceOp);
  Operation operation = this->operation(kinds::reduce, {}, {tensor});
  const bool is_root = rank_ == options.rootRank;
  at::Tensor room = is_root ? operation.received(tensor, true) : operation.given(tensor);
  at::Tensor output = is_root ? room : at::Tensor();
  rondo_call call = reduction_call(RONDO_REDUCE, reduction, room, output, room.numel());
  call.root = static_cast<std::uint32_t>(options.rootRank);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  check_scattered(input, output, size_);
  Operation operation = this->operation(kinds::reduce_scatter_tensor, {input}, {output});
  const rondo_call call = scatter_call(operation, input, output, options.reduceOp);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = single(outputs, "outputs of reduce_scatter");
  TORCH_CHECK_VALUE(inputs.size() == 1 && inputs.front().size() == ranks(), "rondo: reduce_scatter takes one list of inputs, with one for each of ", size_,
                    " ranks");
  for (const at::Tensor& input : inputs.front()) {
    check_dense(input, "an input of reduce_scatter");
    TORCH_CHECK_VALUE(input.sizes() == output.sizes() && input.scalar_type() == output.scalar_type(), "rondo: reduce_scatter of ", input.sizes(), " ",
                      input.scalar_type(), " into ", output.sizes(), " ", output.scalar_type(), "; accepted: inputs like the output");
  }
  Operation operation = this->operation(kinds::reduce_scatter, inputs.front(), {output});
  operation.room = {joined_or_copied(inputs.front())};
  const at::Tensor blocks = operation.room.front();
  const rondo_call call = scatter_call(operation, blocks, output, options.reduceOp);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  check_lists(inputs, outputs, "reduce_scatter_tensor_coalesced");
  for (std::size_t t = 0; t < outputs.size(); ++t) check_scattered(inputs[t], outputs[t], size_);
  Operation operation = this->operation(kinds::reduce_scatter_tensor, inputs, outputs);
  std::vector<rondo_call> calls;
  for (std::size_t t = 0; t < outputs.size(); ++t) calls.push_back(scatter_call(operation, inputs[t], outputs[t], options.reduceOp));
  return run(std::move(operation), calls, timing(options));
}

}  // namespace rondo_torch

// Operations that move elements of any type.
#include <c10/util/Exception.h>

#include <algorithm>

#include "backend-inl.hpp"
#include "blocks.hpp"

namespace rondo_torch {
namespace {

/// An all_gather of `input`, whose output is still to be set.
rondo_call gather_call(Operation& operation, const at::Tensor& input) {
  const at::Tensor block = operation.given(input);
  return move_call(RONDO_ALL_GATHER, block.scalar_type(), block.data_ptr(), nullptr, block.numel());
}

/// The same into one tensor that has room for a block of each rank.
rondo_call gather_call(Operation& operation, const at::Tensor& input, const at::Tensor& output) {
  rondo_call call = gather_call(operation, input);
  call.output = operation.received(output).data_ptr();
  return call;
}

/// The same into a list of tensors.
rondo_call gather_call(Operation& operation, const at::Tensor& input, const Tensors& outputs) {
  rondo_call call = gather_call(operation, input);
  receive_blocks(operation, outputs, call);
  return call;
}

/// Throws unless an all_gather of `input` fills `output`.
void check_gathered(const CallId& id, const at::Tensor& input, const at::Tensor& output, int ranks) {
  check_dense(id, output, "the output");
  check_dense(id, input, "the input");
  TORCH_CHECK_VALUE(output.numel() == input.numel() * ranks, "rondo: ", id, ": ", input.numel(), " elements by ", ranks, " ranks into ", output.numel(),
                    "; accepted: an output as long as all ranks' inputs together");
  check_types(id, input, output);
}

/// One list, as long as the group, of tensors like `like`.
void check_blocks(const CallId& id, const std::vector<Tensors>& lists, const at::Tensor& like, std::size_t ranks, const char* what) {
  TORCH_CHECK_VALUE(lists.size() == 1 && lists.front().size() == ranks, "rondo: ", id, ": the ", what, " are one list, with one tensor for each of ", ranks,
                    " ranks");
  for (const at::Tensor& tensor : lists.front()) {
    check_dense(id, tensor, what);
    TORCH_CHECK_VALUE(tensor.numel() == like.numel() && tensor.scalar_type() == like.scalar_type(), "rondo: ", id, ": among the ", what, " is one of ",
                      tensor.sizes(), " ", tensor.scalar_type(), "; accepted: ", like.numel(), " elements of ", like.scalar_type());
  }
}

void check_root(const CallId& id, std::int64_t root, int size) {
  TORCH_CHECK_VALUE(root >= 0 && root < size, "rondo: ", id, ": root ", root, " of a group of ", size, " ranks");
}

/// Rows that `splits` gives to each rank, in elements; without splits all get as many.
std::vector<std::uint64_t> split_elements(const CallId& id, const at::Tensor& tensor, const std::vector<std::int64_t>& splits, int ranks, const char* what) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const std::int64_t row = rows == 0 ? 0 : tensor.numel() / rows;
  std::vector<std::uint64_t> counts;
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % ranks == 0, "rondo: ", id, ": the ", rows, " rows of the ", what, " can't be dealt out evenly to ", ranks, " ranks");
    counts.assign(static_cast<std::size_t>(ranks), static_cast<std::uint64_t>(rows / ranks * row));
    return counts;
  }
  TORCH_CHECK_VALUE(splits.size() == static_cast<std::size_t>(ranks), "rondo: ", id, ": ", splits.size(), " ", what, " splits for ", ranks, " ranks");
  std::int64_t sum = 0;
  for (const std::int64_t split : splits) {
    TORCH_CHECK_VALUE(split >= 0, "rondo: ", id, ": an ", what, " split of ", split, " rows");
    counts.push_back(static_cast<std::uint64_t>(split * row));
    sum += split;
  }
  TORCH_CHECK_VALUE(sum == rows, "rondo: ", id, ": the ", what, " splits add up to ", sum, " rows, the ", what, " has ", rows);
  return counts;
}

/// Blocks as the library takes them, in bytes, since ranks may differ in where theirs lie: offsets from the first one's beginning in memory.
struct BlockList {
  const void* base = nullptr;
  std::vector<std::uint64_t> counts, offsets;
  explicit BlockList(const Tensors& tensors) {
    std::uintptr_t begin = UINTPTR_MAX;
    for (const at::Tensor& tensor : tensors)
      if (tensor.numel() != 0) begin = std::min(begin, reinterpret_cast<std::uintptr_t>(tensor.data_ptr()));
    base = begin == UINTPTR_MAX ? nullptr : reinterpret_cast<const void*>(begin);
    for (const at::Tensor& tensor : tensors) {
      counts.push_back(tensor.nbytes());
      offsets.push_back(tensor.numel() == 0 ? 0 : reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) - begin);
    }
  }
};

}  // namespace

WorkPointer Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const CallId id = next(kinds::broadcast);
  const at::Tensor& tensor = single(id, tensors, "tensors");
  check_root(id, options.rootRank, size_);
  const bool is_root = rank_ == options.rootRank;
  Operation operation = this->operation(id, {}, {tensor}, options.asyncOp);
  const at::Tensor room = is_root ? operation.given(tensor) : operation.received(tensor);
  // the root's output is its input: in place
  return run(std::move(operation),
             move_call(RONDO_BROADCAST, tensor.scalar_type(), is_root ? room.data_ptr() : nullptr, room.data_ptr(), room.numel(), options.rootRank),
             timing(options));
}

WorkPointer Backend::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  const CallId id = next(kinds::all_gather_into_tensor);
  check_gathered(id, input, output, size_);
  Operation operation = this->operation(id, {input}, {output}, options.asyncOp);
  const rondo_call call = gather_call(operation, input, output);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  const CallId id = next(kinds::all_gather);
  const at::Tensor& input = single(id, inputs, "inputs");
  check_blocks(id, outputs, input, ranks(), "outputs");
  Operation operation = this->operation(id, {input}, outputs.front(), options.asyncOp);
  const rondo_call call = gather_call(operation, input, outputs.front());
  return run(std::move(operation), call, timing(options));
}

/// outputs[r][i] is what rank r gave as inputs[i].
WorkPointer Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  const CallId id = next(kinds::all_gather_coalesced);
  TORCH_CHECK_VALUE(!inputs.empty() && outputs.size() == ranks(), "rondo: ", id, ": takes inputs, and a list of outputs for each of ", size_,
                    " ranks");
  Tensors all;
  for (const Tensors& from_rank : outputs) {
    TORCH_CHECK_VALUE(from_rank.size() == inputs.size(), "rondo: ", id, ": ", inputs.size(), " inputs into a list of ", from_rank.size());
    all.insert(all.end(), from_rank.begin(), from_rank.end());
  }
  std::vector<Tensors> lists(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_dense(id, inputs[i], "an input");
    for (const Tensors& from_rank : outputs) lists[i].push_back(from_rank[i]);
    check_blocks(id, {lists[i]}, inputs[i], ranks(), "outputs");
  }
  Operation operation = this->operation(id, inputs, all, options.asyncOp);
  std::vector<rondo_call> calls;
  for (std::size_t i = 0; i < inputs.size(); ++i) calls.push_back(gather_call(operation, inputs[i], lists[i]));
  return run(std::move(operation), calls, timing(options));
}

WorkPointer Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  const CallId id = next(kinds::all_gather_into_tensor);
  check_lists(id, inputs, outputs);
  for (std::size_t t = 0; t < outputs.size(); ++t) check_gathered(id, inputs[t], outputs[t], size_);
  Operation operation = this->operation(id, inputs, outputs, options.asyncOp);
  std::vector<rondo_call> calls;
  for (std::size_t t = 0; t < outputs.size(); ++t) calls.push_back(gather_call(operation, inputs[t], outputs[t]));
  return run(std::move(operation), calls, timing(options));
}

WorkPointer Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  const CallId id = next(kinds::gather);
  const at::Tensor& input = single(id, inputs, "inputs");
  check_root(id, options.rootRank, size_);
  const bool is_root = rank_ == options.rootRank;
  TORCH_CHECK_VALUE(is_root || outputs.empty() || (outputs.size() == 1 && outputs.front().empty()), "rondo: ", id, ": outputs on a rank that isn't the root");
  if (is_root) check_blocks(id, outputs, input, ranks(), "outputs");
  Operation operation = this->operation(id, {input}, is_root ? outputs.front() : Tensors(), options.asyncOp);
  const at::Tensor given = operation.given(input);
  rondo_call call = move_call(RONDO_GATHER, input.scalar_type(), given.data_ptr(), nullptr, given.numel(), options.rootRank);
  if (is_root) receive_blocks(operation, outputs.front(), call);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) {
  const CallId id = next(kinds::scatter);
  const at::Tensor& output = single(id, outputs, "outputs");
  check_root(id, options.rootRank, size_);
  const bool is_root = rank_ == options.rootRank;
  TORCH_CHECK_VALUE(is_root || inputs.empty() || (inputs.size() == 1 && inputs.front().empty()), "rondo: ", id, ": inputs on a rank that isn't the root");
  if (is_root) check_blocks(id, inputs, output, ranks(), "inputs");
  Operation operation = this->operation(id, is_root ? inputs.front() : Tensors(), {output}, options.asyncOp);
  const at::Tensor room = operation.received(output);
  rondo_call call = move_call(RONDO_SCATTER, output.scalar_type(), nullptr, room.data_ptr(), room.numel(), options.rootRank);
  if (is_root) give_blocks(operation, inputs.front(), call);
  return run(std::move(operation), call, timing(options));
}

WorkPointer Backend::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits, std::vector<std::int64_t>& input_splits,
                                   const c10d::AllToAllOptions& options) {
  const CallId id = next(kinds::all_to_all_single);
  check_dense(id, output, "the output");
  check_dense(id, input, "the input");
  check_types(id, input, output);
  auto sent = split_elements(id, input, input_splits, size_, "input"), received = split_elements(id, output, output_splits, size_, "output");
  const bool even = output_splits.empty() && input_splits.empty();
  Operation operation = this->operation(id, {input}, {output}, options.asyncOp);
  const at::Tensor given = operation.given(input), room = operation.received(output);
  if (even) {
    TORCH_CHECK_VALUE(input.numel() == output.numel(), "rondo: ", id, ": ", input.numel(), " elements into ", output.numel(), "; accepted: as many");
    const auto block = static_cast<std::int64_t>(sent.front());
    return run(std::move(operation), move_call(RONDO_ALL_TO_ALL, input.scalar_type(), given.data_ptr(), room.data_ptr(), block), timing(options));
  }
  const Elements unit = moved(input.scalar_type());
  for (auto* counts : {&sent, &received})
    for (std::uint64_t& count : *counts) count *= static_cast<std::uint64_t>(unit.per_element);
  if (operation.on)
    return run_on_device(std::move(operation), options.timeout, [&](rondo_cuda_communicator* c, void* stream) {
      return rondo_cuda_all_to_all_v(c, given.data_ptr(), sent.data(), nullptr, room.data_ptr(), received.data(), nullptr, unit.type, stream);
    });
  return run(
      std::move(operation), timing(options),
      [&](rondo_communicator* c) {
        return rondo_all_to_all_v(c, given.data_ptr(), sent.data(), nullptr, room.data_ptr(), received.data(), nullptr, unit.type);
      },
      [&](rondo_communicator* c, rondo_work** started) {
        return rondo_start_all_to_all_v(c, given.data_ptr(), sent.data(), nullptr, room.data_ptr(), received.data(), nullptr, unit.type, started);
      });
}

WorkPointer Backend::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  const CallId id = next(kinds::all_to_all);
  for (const Tensors* list : {&inputs, &outputs}) {
    TORCH_CHECK_VALUE(list->size() == ranks(), "rondo: ", id, ": ", list->size(), " tensors for ", size_, " ranks");
    for (const at::Tensor& tensor : *list) check_dense(id, tensor, "a tensor");
  }
  Operation operation = this->operation(id, inputs, outputs, options.asyncOp);
  Tensors given, room;
  for (const at::Tensor& input : inputs) given.push_back(operation.given(input));
  for (const at::Tensor& output : outputs) room.push_back(operation.received(output));
  const BlockList sent(given), received(room);
  void* const place = const_cast<void*>(received.base);
  if (operation.on)
    return run_on_device(std::move(operation), options.timeout, [&](rondo_cuda_communicator* c, void* stream) {
      return rondo_cuda_all_to_all_v(c, sent.base, sent.counts.data(), sent.offsets.data(), place, received.counts.data(), received.offsets.data(), RONDO_U8,
                                     stream);
    });
  return run(
      std::move(operation), timing(options),
      [&](rondo_communicator* c) {
        return rondo_all_to_all_v(c, sent.base, sent.counts.data(), sent.offsets.data(), place, received.counts.data(), received.offsets.data(), RONDO_U8);
      },
      [&](rondo_communicator* c, rondo_work** started) {
        return rondo_start_all_to_all_v(c, sent.base, sent.counts.data(), sent.offsets.data(), place, received.counts.data(), received.offsets.data(), RONDO_U8,
                                        started);
      });
}

}  // namespace rondo_torch

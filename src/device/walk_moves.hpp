// Steps that copy and combine, of whole pieces or, where buffers are lists, of the runs of a piece that lie in one place each.
#pragma once

#include "device/walk.hpp"
#include "kernels/cuda/span.hpp"
#include "kernels/cuda/wire_span.hpp"

namespace rondo::device {

template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::move(const ExecStep& step, std::uint64_t piece) {
  const std::uint64_t begin = (slice_ + piece * job_.slices) * job_.piece_bytes;
  const std::uint64_t chunk_bytes = job_.message_bytes != 0 ? job_.message_bytes : step.chunk_bytes;
  if (begin >= chunk_bytes) return;
  const std::uint64_t left = chunk_bytes - begin;
  const std::uint64_t bytes = left < job_.piece_bytes ? left : job_.piece_bytes;
  if constexpr (listed) move_listed(step, piece, begin, bytes);
  else move_run(step, piece, Run{nullptr, 0, 0, bytes});
}

/// A step's operands in the caller's buffers are one part of them, as fit() sees to.
template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::move_listed(const ExecStep& step, std::uint64_t piece, std::uint64_t begin, std::uint64_t bytes) {
  const std::uint32_t total = std::uint32_t{step.sources} + step.destinations;
  std::uint32_t user = 0;
  while (user < total && operand(step, user).kind != ExecOperand::user) ++user;
  if (user == total) return move_run(step, piece, Run{nullptr, 0, 0, bytes});
  const std::uint64_t first = operand(step, user).offset + begin;
  const Segment* segment = list_.find(first);
  for (std::uint64_t done = 0; done < bytes; ++segment) {
    const std::uint64_t there = segment->end - (first + done), left = bytes - done;
    const std::uint64_t run = there < left ? there : left;
    move_run(step, piece, Run{segment, first + done, done, run});
    done += run;
  }
}

template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::move_run(const ExecStep& step, std::uint64_t piece, const Run& run) {
  const std::uint32_t total = std::uint32_t{step.sources} + step.destinations;
  turn_over_ ^= 1;
  void** pointers = shared_.pointers[turn_over_];
  for (std::uint32_t i = block_.thread(); i < total; i += block_.threads()) pointers[i] = address(operand(step, i), piece, run);
  const cuda::Lanes lanes{block_.thread(), block_.threads()};
  if constexpr (IsOnWire<Element>) {
    WireCall& call = shared_.wire[turn_over_];
    if (block_.thread() == 0) write_call(call, step, pointers, run.bytes);
    block_.sync();
    cuda::combine_wire_span<typename Element::Wire>(call, lanes);
  } else {
    KernelCall& call = shared_.kernel[turn_over_];
    if (step.op == ExecOp::reduce && block_.thread() == 0) write_call(call, step, pointers, run.bytes);
    block_.sync();
    if (step.op == ExecOp::reduce) cuda::combine_span<Element>(call, job_.op, lanes);
    else copy(pointers, total, run.bytes, lanes);
  }
}

template <class Element, class Block, bool listed>
RONDO_HD std::byte* Walk<Element, Block, listed>::address(const ExecOperand& operand, std::uint64_t piece, const Run& run) const {
  std::byte* const base = shared_.bases[operand.base] + operand.offset;
  if (operand.kind == ExecOperand::slot) return base + piece % job_.ring_slots * job_.slot_stride + (IsOnWire<Element> ? run.done / 2 : run.done);
  if constexpr (listed) {
    std::byte* const tensor = operand.base == base_input ? const_cast<std::byte*>(run.segment->input) : run.segment->output;
    return tensor + (run.at - run.segment->begin);
  }
  return base + (slice_ + piece * job_.slices) * job_.piece_bytes;
}

/// What both kinds of calls have.
template <class Element, class Block, bool listed>
template <class Call>
RONDO_HD Call Walk<Element, Block, listed>::kernel_call(const ExecStep& step, void* const* pointers, std::uint64_t bytes) const {
  Call call;
  call.sources = const_cast<const void* const*>(pointers);
  call.destinations = pointers + step.sources;
  call.source_count = step.sources;
  call.destination_count = step.destinations;
  call.count = bytes / job_.element_bytes;
  if (step.finish) call.divisor = job_.divisor;
  return call;
}

/// What the block's threads then read together: written by one of them.
template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::write_call(KernelCall& call, const ExecStep& step, void* const* pointers, std::uint64_t bytes) const {
  call = kernel_call<KernelCall>(step, pointers, bytes);
  if (job_.op == ReduceOp::premul_sum) {
    for (std::uint32_t i = 0; i < step.sources; ++i)
      if (operand(step, i).contribution) call.scaled_sources |= std::uint64_t{1} << i;
    call.scale = job_.scale;
    call.integer_scale = job_.integer_scale;
  }
}

/// Likewise, where slots hold a wire type.
template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::write_call(WireCall& call, const ExecStep& step, void* const* pointers, std::uint64_t bytes) const {
  call = kernel_call<WireCall>(step, pointers, bytes);
  call.scale = job_.scale;
  for (std::uint32_t s = 0; s < step.sources; ++s) {
    if (operand(step, s).kind == ExecOperand::slot) call.wire_sources |= std::uint64_t{1} << s;
    if (operand(step, s).contribution) call.scaled_sources |= std::uint64_t{1} << s;
  }
  for (std::uint32_t d = 0; d < step.destinations; ++d)
    if (operand(step, step.sources + d).kind == ExecOperand::slot) call.wire_destinations |= std::uint64_t{1} << d;
}

/// The first of them to all others.
template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::copy(void* const* pointers, std::uint32_t total, std::uint64_t bytes, cuda::Lanes lanes) {
  bool onto_itself = false;
  for (std::uint32_t i = 1; i < total; ++i) onto_itself |= pointers[i] == pointers[0];
  if (!onto_itself) return cuda::copy_span(pointers + 1, total - 1, pointers[0], bytes, lanes);
  for (std::uint32_t i = 1; i < total; ++i)
    if (pointers[i] != pointers[0]) cuda::copy_span(pointers + i, 1, pointers[0], bytes, lanes);
}

}  // namespace rondo::device

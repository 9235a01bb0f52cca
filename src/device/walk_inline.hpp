// Steps whose scratch is cells: each eight bytes arrive with their flag, so that publishing is signalling and reading is waiting.
#pragma once

#include "device/walk.hpp"
#include "kernels/cuda/span.hpp"

namespace rondo::device {

RONDO_HD inline std::uint32_t cells_for(std::uint64_t bytes) {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + cell_payload - 1) / cell_payload);
}

template <class Element, class Block, bool listed>
RONDO_HD Cell* Walk<Element, Block, listed>::cells_of(const ExecOperand& operand) const {
  return reinterpret_cast<Cell*>(job_.group.areas[operand.base] + job_.group.layout.cells(parity_)) + operand.offset * cells_per_line;
}

/// The user's bytes of a cell, the rest zero.
RONDO_HD inline std::uint64_t bytes_of_cell(const std::byte* user, std::uint64_t chunk_bytes, std::uint32_t cell) {
  std::uint64_t payload = 0;
  const std::uint64_t begin = cell * cell_payload;
  for (std::uint64_t i = 0; i < cell_payload && begin + i < chunk_bytes; ++i)
    payload |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(user[begin + i])) << (8 * i);
  return payload;
}

/// A contribution into own cells. No thread waits for another: each cell is one thread's.
template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::publish(const ExecStep& step) {
  const ExecOperand& from = operand(step, 0);
  const std::byte* user = shared_.bases[from.base] + from.offset;
  Cell* cells = cells_of(operand(step, 1));
  for (std::uint32_t cell = block_.thread(); cell < cells_for(step.chunk_bytes); cell += block_.threads())
    block_.store_cell(cells + cell, {bytes_of_cell(user, step.chunk_bytes, cell), shared_.flag});  // pairs with poll_cell(): payload and flag are one
}

/// Sources may be cells of any rank or user buffers, destinations user buffers or own cells.
template <class Element, class Block, bool listed>
RONDO_HD bool Walk<Element, Block, listed>::inline_move(const ExecStep& step) {
  if (step.op == ExecOp::inline_publish) {
    publish(step);
    return true;
  }
  const std::uint32_t padded = static_cast<std::uint32_t>((step.chunk_bytes + 15) / 16 * 16);
  if (room_used_) block_.sync();  // for the step before it may still be read
  room_used_ = true;
  turn_over_ ^= 1;
  void** pointers = shared_.pointers[turn_over_];
  KernelCall& call = shared_.kernel[turn_over_];
  // A result for one user buffer goes there at once.
  const ExecOperand& first = operand(step, step.sources);
  const bool straight = step.reduces && step.destinations == 1 && first.kind != ExecOperand::inline_line;
  if (block_.thread() == 0) {
    for (std::uint32_t i = 0; i <= step.sources; ++i) pointers[i] = shared_.inlined + i * padded;
    if (straight) pointers[step.sources] = shared_.bases[first.base] + first.offset;
    this->write_call(call, step, pointers, step.chunk_bytes);
    call.destination_count = 1;
  }
  if (block_.any(!take_in(step, padded))) return false;
  if (step.reduces) cuda::combine_span<Element>(call, job_.op, {block_.thread(), block_.threads()});
  if (straight) return true;
  block_.sync();
  give_out(step, shared_.inlined + (step.reduces ? std::uint32_t{step.sources} * padded : 0));
  return true;
}

/// All sources into shared memory: a cell's eight bytes a thread, of all sources at once.
template <class Element, class Block, bool listed>
RONDO_HD bool Walk<Element, Block, listed>::take_in(const ExecStep& step, std::uint32_t padded) {
  const std::uint32_t cells = cells_for(step.chunk_bytes);
  for (std::uint32_t k = block_.thread(); k < step.sources * cells; k += block_.threads()) {
    const std::uint32_t source = k / cells, cell = k % cells;
    const ExecOperand& from_where = operand(step, source);
    std::uint64_t payload = 0;
    if (from_where.kind != ExecOperand::inline_line) payload = bytes_of_cell(shared_.bases[from_where.base] + from_where.offset, step.chunk_bytes, cell);
    else if (!this->poll_cell(cells_of(from_where) + cell, payload, from_where.base, step.source_step)) return false;
    if (step.chunk_bytes != 0) *reinterpret_cast<std::uint64_t*>(shared_.inlined + source * padded + cell * cell_payload) = payload;
  }
  return true;
}

template <class Element, class Block, bool listed>
RONDO_HD void Walk<Element, Block, listed>::give_out(const ExecStep& step, const std::byte* result) {
  const std::uint32_t cells = cells_for(step.chunk_bytes);
  for (std::uint32_t k = block_.thread(); k < step.destinations * cells; k += block_.threads()) {
    const std::uint32_t destination = k / cells, cell = k % cells;
    const ExecOperand& where = operand(step, step.sources + destination);
    const std::uint64_t left = step.chunk_bytes - cell * cell_payload;
    const std::uint64_t bytes = step.chunk_bytes == 0 ? 0 : left < cell_payload ? left : cell_payload;
    const std::byte* from = result + cell * cell_payload;
    if (where.kind == ExecOperand::inline_line) {
      // pairs with poll_cell(): payload and flag are one
      block_.store_cell(cells_of(where) + cell, {bytes == 0 ? 0 : *reinterpret_cast<const std::uint64_t*>(from), shared_.flag});
    } else {
      std::byte* to = shared_.bases[where.base] + where.offset + cell * cell_payload;
      for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
  }
}

}  // namespace rondo::device

// Steps whose scratch is cells: each eight bytes arrive with their flag, so that publishing is signalling and reading is waiting.
#pragma once

#include "device/walk.hpp"

namespace rondo::device {

RONDO_HD inline std::uint32_t cells_for(std::uint64_t bytes) {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + cell_payload - 1) / cell_payload);
}

template <class Element, class Block>
RONDO_HD Cell* Walk<Element, Block>::cells_of(const ExecOperand& operand) const {
  return reinterpret_cast<Cell*>(job_.group.areas[operand.base] + job_.group.layout.cells(parity_)) + operand.offset * cells_per_line;
}

/// Sources may be cells of any rank or user buffers, destinations user buffers or own cells.
template <class Element, class Block>
RONDO_HD bool Walk<Element, Block>::inline_move(const ExecStep& step) {
  const std::uint32_t padded = static_cast<std::uint32_t>((step.chunk_bytes + 15) / 16 * 16);
  block_.sync();  // the room may still be read for the step before
  if (block_.any(!take_in(step, padded))) return false;
  std::byte* result = shared_.inlined;
  if (step.op == ExecOp::inline_gather && step.reduces) {
    turn_over_ ^= 1;
    void** pointers = shared_.pointers[turn_over_];
    result = shared_.inlined + std::uint32_t{step.sources} * padded;
    for (std::uint32_t i = block_.thread(); i <= step.sources; i += block_.threads()) pointers[i] = shared_.inlined + i * padded;
    KernelCall& call = shared_.kernel[turn_over_];
    if (block_.thread() == 0) {
      this->write_call(call, step, pointers, step.chunk_bytes);
      call.destination_count = 1;
    }
    block_.sync();
    cuda::combine_span<Element>(call, job_.op, {block_.thread(), block_.threads()});
    block_.sync();
  }
  give_out(step, result);
  return true;
}

/// All sources into shared memory: a cell's eight bytes a thread, of all sources at once.
template <class Element, class Block>
RONDO_HD bool Walk<Element, Block>::take_in(const ExecStep& step, std::uint32_t padded) {
  const std::uint32_t cells = cells_for(step.chunk_bytes);
  for (std::uint32_t k = block_.thread(); k < step.sources * cells; k += block_.threads()) {
    const std::uint32_t source = k / cells, cell = k % cells;
    const ExecOperand& from_where = operand(step, source);
    const std::uint64_t left = step.chunk_bytes - cell * cell_payload;
    const std::uint64_t bytes = step.chunk_bytes == 0 ? 0 : left < cell_payload ? left : cell_payload;
    std::byte* to = shared_.inlined + source * padded + cell * cell_payload;
    if (from_where.kind == ExecOperand::inline_line) {
      std::uint64_t payload = 0;
      if (!this->poll_cell(cells_of(from_where) + cell, payload, from_where.base, step.source_step)) return false;
      if (bytes != 0) *reinterpret_cast<std::uint64_t*>(to) = payload;
    } else {
      const std::byte* from = shared_.bases[from_where.base] + from_where.offset + cell * cell_payload;
      for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
  }
  return true;
}

template <class Element, class Block>
RONDO_HD void Walk<Element, Block>::give_out(const ExecStep& step, const std::byte* result) {
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

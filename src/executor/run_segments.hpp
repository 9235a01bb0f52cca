// Calls on a list of tensors: each step goes through its operands in runs that lie in one place in all of them.
#pragma once

#include <algorithm>
#include <cstring>

#include "executor/pointer_buffer.hpp"
#include "executor/run.hpp"
#include "executor/small_copy.hpp"

namespace rondo {

/// Tiny calls, which run inlined, have their few lines gathered before and scattered behind: their steps then know no list.
template <bool digests>
void BasicRun<digests>::bind_segments(const SegmentTable& table) {
  out_of_place_ = true;  // where it isn't in place, segment by segment
  if (!executable_->inlined) {
    segments_ = &table;
    return;
  }
  scattered_ = &table;
  const bool apart = executable_->plan.header.out_of_place;
  gathered_.resize(std::max<std::size_t>(1, table.bytes() * (apart ? 2 : 1)));
  bases_[base_input] = gathered_.data();
  bases_[base_output] = gathered_.data() + (apart ? table.bytes() : 0);
  for (const Segment& segment : table.segments) std::memcpy(gathered_.data() + segment.begin, segment.input, segment.end - segment.begin);
}

template <bool digests>
void BasicRun<digests>::scatter() {
  for (const Segment& segment : scattered_->segments) std::memcpy(segment.output, bases_[base_output] + segment.begin, segment.end - segment.begin);
}

template <bool digests>
void BasicRun<digests>::move_listed(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes) {
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  PointerBuffer buffer;
  void** pointers = buffer.get(total);
  for (std::uint32_t i = 0; i < total; ++i)
    if (operands[i].kind != ExecOperand::user) pointers[i] = address(operands[i], piece);
  move_runs(step, piece, bytes, pointers);
}

/// `pointers` has those of the operands that are no user buffers, each of which is one run.
template <bool digests>
void BasicRun<digests>::move_runs(const ExecStep& step, std::uint64_t piece, std::uint64_t bytes, void** pointers) {
  const ExecOperand* operands = &executable_->operands[step.first_operand];
  const std::uint32_t total = step.sources + step.destinations;
  places_.resize(total);
  for (std::uint32_t i = 0; i < total; ++i) {
    const bool user = operands[i].kind == ExecOperand::user;
    const std::uint64_t at = user ? operands[i].offset + piece * executable_->piece_bytes : 0;
    places_[i] = {user ? segments_->find(at) : nullptr, at, user ? nullptr : static_cast<std::byte*>(pointers[i])};
  }
  for (std::uint64_t done = 0; done < bytes;) {
    std::uint64_t run = bytes - done;
    StoreHints hints;
    for (std::uint32_t i = 0; i < total; ++i) {
      Place& place = places_[i];
      if (place.segment == nullptr) {
        pointers[i] = place.begin + (done >> executable_->wire_shift);
        if (i - step.sources < 64) hints.add(operands[i], i - step.sources, false);
        continue;
      }
      const std::uint64_t at = place.at + done;
      if (at == place.segment->end) ++place.segment;
      const Segment& segment = *place.segment;
      run = std::min(run, segment.end - at);
      std::byte* const begin = operands[i].base == base_input ? const_cast<std::byte*>(segment.input) : segment.output;
      pointers[i] = begin + (at - segment.begin);
      if (i - step.sources < 64) hints.add(operands[i], i - step.sources, !segment.in_place());
    }
    move_run(step, pointers, run, hints);
    done += run;
  }
}

template <bool digests>
void BasicRun<digests>::move_run(const ExecStep& step, void** pointers, std::uint64_t bytes, StoreHints hints) {
  if (executable_->wire_kernel != nullptr) return combine_wire(step, pointers, bytes, hints);
  if (step.reduces) {
    if (step.destinations > 1 && executable_->copies_beat_stores) return combine_and_copy(step, pointers, bytes, hints);
    return combine(step, const_cast<const void* const*>(pointers), pointers + step.sources, step.destinations, bytes, hints);
  }
  for (std::uint32_t i = 1; i <= step.destinations; ++i) {
    if (pointers[i] == pointers[0]) continue;
    if (bytes <= small_copy_limit) small_copy(pointers[i], pointers[0], bytes);
    else if (const ExecOperand& to = executable_->operands[step.first_operand + i]; to.kind == ExecOperand::slot)
      cpu_publish(pointers[i], pointers[0], bytes, to.streamed);
    else if (const bool streamed = (hints.streamed >> (i - 1) & 1) != 0; to.pulled && !streamed) cpu_pull(pointers[i], pointers[0], bytes, false);
    else cpu_copy(pointers[i], pointers[0], bytes, streamed);
  }
}

}  // namespace rondo

// Buffers that peers read, in plans of protocol direct (docs/design/0010-symmetric-memory.md): telling them where they are, finding
// theirs, and knowing that what was read is still what they meant.
#pragma once

#include <atomic>

#include "executor/run.hpp"

namespace rondo {

/// Before the first signal, which publishes it.
template <bool digests>
void BasicRun<digests>::tell_buffers() {
  LaneLine& line = context_->lane(context_->rank(), 0);
  if (executable_->fetches) {
    const auto word_of = [](const std::byte* buffer) { return buffer == nullptr ? no_buffer : reinterpret_cast<std::uint64_t>(buffer); };
    line.buffers[parity_][0].store(word_of(bases_[base_input]), std::memory_order_relaxed);
    line.buffers[parity_][1].store(word_of(bases_[base_output]), std::memory_order_relaxed);
    return;
  }
  line.buffers[parity_][0].store(context_->homes.word_of(context_->rank(), bases_[base_input]), std::memory_order_relaxed);
  line.buffers[parity_][1].store(context_->homes.word_of(context_->rank(), bases_[base_output]), std::memory_order_relaxed);
  // pairs with leave_buffers() of the peers: either this rank finds them broken in attach(), or they find that it touches their buffers
  if (says_when_it_touches()) context_->status(context_->rank()).reads.store(call_, std::memory_order_seq_cst);
}

/// After a wait for the rank's signal. Mismatch: what it tells is no place in the memory it shares.
template <bool digests>
Progress BasicRun<digests>::attach(const ExecStep& step) {
  const LaneLine& line = context_->lane(step.rank, 0);
  if (says_when_it_touches() && line.broken.load(std::memory_order_seq_cst) != 0) return Progress::blocked;
  for (const bool output : {false, true}) {
    if ((step.attaches & (output ? reads_output : reads_input)) == 0) continue;
    const std::uint64_t word = line.buffers[parity_][output ? 1 : 0].load(std::memory_order_relaxed);  // published by the signal
    const std::uint64_t bytes = output ? executable_->output_bytes : executable_->input_bytes;
    std::byte* place = nullptr;
    if (!executable_->fetches) place = context_->homes.place_of(step.rank, word, bytes);
    else if (word != no_buffer) place = reinterpret_cast<std::byte*>(word);  // in the rank's process, where the kernel checks it
    if (place == nullptr) {
      disagreeing_ = step.rank;
      return Progress::mismatch;
    }
    bases_[base_of_peer(context_->size(), step.rank, output)] = place;
  }
  return Progress::done;
}

/// Whether the ranks whose buffers were read hadn't failed by then. One that has may have given them back to its user.
template <bool digests>
bool BasicRun<digests>::confirmed() const {
  // pairs with fail() and abort(): whoever read what was written after them sees the word
  std::atomic_thread_fence(std::memory_order_acquire);
  for (const std::uint32_t rank : executable_->reads)
    if (context_->lane(rank, 0).broken.load(std::memory_order_relaxed) != 0) return false;
  return true;
}

}  // namespace rondo

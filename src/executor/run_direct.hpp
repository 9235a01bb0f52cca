// Buffers that peers read, in plans of protocol direct (docs/design/0010-symmetric-memory.md): telling them where they are, finding
// theirs, and knowing that what was read is still what they meant.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/cpu_relax.hpp"
#include "base/crash_point.hpp"
#include "executor/run.hpp"
#include "executor/thread_checker.hpp"

namespace rondo {

/// Whether all ranks have told that they make this very call, after the same ones, in which peers read and write their buffers where they are; none has touched
/// another's before. Those who have stand where their lanes' first signals would have brought them.
template <bool digests>
Progress BasicRun<digests>::agree(std::uint32_t spins) {
  for (std::uint32_t rank = 0; rank < context_->size(); ++rank) {
    if (rank == context_->rank()) continue;
    for (std::uint32_t spin = 0;; ++spin) {
      // pairs with tell_buffers(): release of the digest publishes where the buffers are
      const std::uint64_t told = context_->lane(rank, 0).digest[parity_].load(std::memory_order_acquire);
      if (told == flag()) break;
      if (told >> 32 == (call_ & 0xffffffff)) {
        disagreeing_ = rank;
        return Progress::mismatch;
      }
      if (spin >= spins) return Progress::blocked;
      cpu_relax();
    }
    tell_acquire(context_->lane(rank, 0));
  }
  agreed_ = true;
  context_->entered_by_all = call_;
  return Progress::done;
}

/// By the records, that is by who has entered. A rank that passes other memory, or makes another call altogether, has a record that says so from its first
/// word of this call on, and goes on without the others' consent; one that passes such memory writes its record anew once it has seen that of another kind,
/// and may be stopped before it has ended that.
template <bool digests>
bool BasicRun<digests>::must_withdraw() const {
  if (agreed_ || !entered_) return false;
  for (std::uint32_t rank = 0; rank < context_->size(); ++rank) {
    const CallRecord& record = context_->record(rank, parity_);
    // pairs with tell_buffers() and signal(): who has told of this call has a record of it, or writes that anew
    const bool has_told = context_->lane(rank, 0).digest[parity_].load(std::memory_order_acquire) >> 32 == (call_ & 0xffffffff);
    // pairs with write_record(): release of sequence publishes the digest
    const bool has_entered = record.sequence.load(std::memory_order_acquire) == call_;
    if (has_entered ? record.digest.load(std::memory_order_relaxed) != digest_ : has_told) return true;
  }
  return false;
}

template <bool digests>
void BasicRun<digests>::withdraw() {
  if (entered_ && says_when_it_touches()) context_->status(context_->rank()).reads.store(0, std::memory_order_release);
  entered_ = false;
  context_->give_back_halves(executable_->writer);
  --context_->call;
  context_->history = history_before_;
}

/// Before the first signal, which publishes it; or to ranks that are to agree.
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
  if (!executable_->agrees) return;
  tell_release(line);
  line.digest[parity_].store(flag(), std::memory_order_release);  // pairs with agree()
  context_->wake_peers();
}

/// After a wait for the rank's signal. Mismatch: what it tells is no place in the memory it shares.
template <bool digests>
Progress BasicRun<digests>::attach(const ExecStep& step) {
  const LaneLine& line = context_->lane(step.rank, 0);
  if (says_when_it_touches() && context_->broken(step.rank).load(std::memory_order_seq_cst) != 0) return Progress::blocked;
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

/// Whoever raises the word to a piece makes its copy. Each rank comes to a copy's pieces in their order, so that who finds a word beyond its own piece
/// finds that taken, too. Nothing is read by what a word says: what a copy needs, and what needs it, goes by signals.
template <bool digests>
Progress BasicRun<digests>::take_once(const ExecStep& step, std::uint64_t piece) {
  SharedWord& word = context_->once(step.rank, parity_, step.lane);
  const std::uint64_t taken = (call_ << progress_call_shift) + piece + 1;
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (static_cast<std::int64_t>(seen - taken) < 0) {  // a difference, as of progress
    if (!word.compare_exchange_weak(seen, taken, std::memory_order_relaxed)) continue;
    crash_point("collective: a copy taken");
    return Progress::done;
  }
  return Progress::skip;
}

/// Whether a rank whose buffer was read hadn't failed by then. One that has may have given it back to its user.
template <bool digests>
bool BasicRun<digests>::confirmed(std::uint32_t rank) const {
  // pairs with fail() and abort(): whoever read what was written after them sees the word
  std::atomic_thread_fence(std::memory_order_acquire);
  return context_->broken(rank).load(std::memory_order_relaxed) == 0;
}

/// The same of all ranks whose buffers the plan reads.
template <bool digests>
bool BasicRun<digests>::confirmed() const {
  return std::all_of(executable_->reads.begin(), executable_->reads.end(), [this](std::uint32_t rank) { return confirmed(rank); });
}

}  // namespace rondo

// What Walk asks of a block, by threads of this process: so that a plan's way through a GPU's blocks is tested where there is no GPU.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "device/shared.hpp"

namespace rondo::test {

/// All threads of one block. Its own: the standard library's shares words with every other barrier, which would hide a missing order from the thread sanitizer.
class BlockBarrier {
 public:
  explicit BlockBarrier(unsigned threads) : threads_(threads) {}
  void wait() {
    const unsigned turn = turn_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
    } else {
      while (turn_.load(std::memory_order_acquire) == turn) std::this_thread::yield();
    }
  }

 private:
  const unsigned threads_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> turn_{0};
};

/// What the threads of one block have in common.
struct HostBlockState {
  explicit HostBlockState(unsigned block_threads) : threads(block_threads), barrier(block_threads) {}
  device::Shared shared{};
  unsigned threads;
  BlockBarrier barrier;
  std::atomic<unsigned> votes[2]{};  ///< of any(), by turns
};

class HostBlock {
 public:
  HostBlock(HostBlockState& state, unsigned thread) : state_(state), thread_(thread) {}

  device::Shared& shared() { return state_.shared; }
  unsigned thread() const { return thread_; }
  unsigned threads() const { return state_.threads; }
  void sync() { state_.barrier.wait(); }
  bool any(bool value) {
    std::atomic<unsigned>& votes = state_.votes[turn_];
    turn_ ^= 1;
    if (value) votes.fetch_add(1, std::memory_order_relaxed);
    state_.barrier.wait();
    const bool result = votes.load(std::memory_order_relaxed) != 0;
    state_.barrier.wait();
    if (thread_ == 0) votes.store(0, std::memory_order_relaxed);  // read again two turns later
    return result;
  }

  std::uint64_t load_acquire(const std::uint64_t* word) const { return at(word).load(std::memory_order_acquire); }
  std::uint64_t load_relaxed(const std::uint64_t* word) const { return at(word).load(std::memory_order_relaxed); }
  void store_release(std::uint64_t* word, std::uint64_t value) { at(word).store(value, std::memory_order_release); }
  void store_at_start(std::uint64_t* word, std::uint64_t value) { store_release(word, value); }  // a kernel's end is none here
  void tell_host(std::uint64_t* word, std::uint64_t value) { store_release(word, value); }
  void store_relaxed(std::uint64_t* word, std::uint64_t value) { at(word).store(value, std::memory_order_relaxed); }
  void bring_near(const std::byte*) const {}
  device::Cell load_cell(const device::Cell* cell) const {
    const std::uint64_t flag = load_acquire(&cell->flag);
    return {load_relaxed(&cell->payload), flag};
  }
  void store_cell(device::Cell* cell, const device::Cell& value) {
    store_relaxed(&cell->payload, value.payload);
    store_release(&cell->flag, value.flag);
  }
  bool claim(std::uint64_t* word, std::uint64_t value) {
    std::uint64_t nothing = 0;
    return at(word).compare_exchange_strong(nothing, value, std::memory_order_acq_rel, std::memory_order_acquire);
  }
  std::uint64_t add(std::uint64_t* word, std::uint64_t value) { return at(word).fetch_add(value, std::memory_order_acq_rel); }
  std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  }
  void relax(std::uint32_t) const { std::this_thread::yield(); }

 private:
  static std::atomic_ref<std::uint64_t> at(const std::uint64_t* word) { return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)); }

  HostBlockState& state_;
  unsigned thread_;
  unsigned turn_ = 0;
};

}  // namespace rondo::test

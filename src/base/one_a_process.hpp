// What a process has one of, and a forked child another one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fork_guard.hpp"

namespace rondo {

/// This process's only T, made when it is first asked for. A forked child gets one of its own: another thread may have held the parent's locks when it was
/// forked, and the parent's threads aren't there. No lock is taken for that. Never destroyed, so that no order of static destructors matters; of two that
/// threads make at the same moment one goes at once, so making one must do nothing but that. Thread-safe.
template <class T>
T& one_a_process() {
  struct Made {
    const std::uint64_t generation = fork_generation();
    T value;
  };
  static std::atomic<Made*> current{nullptr};
  Made* known = current.load(std::memory_order_acquire);  // pairs with the exchange
  while (known == nullptr || known->generation != fork_generation()) {
    auto made = std::make_unique<Made>();
    if (current.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) known = made.release();
  }
  return known->value;
}

}  // namespace rondo

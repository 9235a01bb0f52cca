// How many have come: a count that this process, its threads and the children it forks from here on have in common.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/shared.hpp"
#include "support/sleep.hpp"

class Arrivals {
 public:
  /// One more. How many there were before.
  std::uint32_t count() const { return come_->fetch_add(1, std::memory_order_release); }  // pairs with await()
  /// Waits until so many have come; false when they haven't within `seconds`.
  bool await(std::uint32_t many, int seconds = 20) const {
    for (int turn = 0; come_->load(std::memory_order_acquire) < many; ++turn) {
      if (turn == seconds * 1000) return false;
      sleep_ms(1);
    }
    return true;
  }

 private:
  Shared<std::atomic<std::uint32_t>> come_;
};

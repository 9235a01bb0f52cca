// Who may turn the crank: the caller, a waiter or the progress thread, one at a time.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace rondo {

/// A lock; waiting for it yields. Held for microseconds, or by a call that waits for its peers and gives it up for a while when
/// it is wanted. Not recursive.
class Token {
 public:
  bool try_acquire() { return held_.exchange(1, std::memory_order_acquire) == 0; }
  void acquire() {
    if (try_acquire()) return;
    wanted_.fetch_add(1, std::memory_order_relaxed);
    while (!try_acquire()) sched_yield();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  void release() { held_.store(0, std::memory_order_release); }
  /// Whether another thread is in acquire(): a hint.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<std::uint32_t> held_{0};
  std::atomic<std::uint32_t> wanted_{0};
};

class TokenGuard {
 public:
  explicit TokenGuard(Token& token) : token_(token) { token_.acquire(); }
  ~TokenGuard() { token_.release(); }
  TokenGuard(const TokenGuard&) = delete;
  TokenGuard& operator=(const TokenGuard&) = delete;

 private:
  Token& token_;
};

}  // namespace rondo

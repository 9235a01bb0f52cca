// Who may turn the crank: the caller, a waiter or the progress thread, one at a time.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace rondo {

/// A lock held for microseconds at most; waiting for it yields. Not recursive.
class Token {
 public:
  bool try_acquire() { return held_.exchange(1, std::memory_order_acquire) == 0; }
  void acquire() {
    while (!try_acquire()) sched_yield();
  }
  void release() { held_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> held_{0};
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

// The moment at which a victim dies, for the survivors to measure from.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "base/clock.hpp"

/// The contract, from a death to each survivor's error. Ranks that share two processors took 14 ms at most.
inline constexpr std::int64_t death_bound_ns = 1'000'000'000;

/// When the victim died, by the clock that all processes share; 0 until then. Memory that the children inherit.
class Death {
 public:
  Death() : at_(new (mmap(nullptr, sizeof *at_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<std::int64_t>(0)) {}
  Death(const Death&) = delete;
  Death& operator=(const Death&) = delete;
  ~Death() { munmap(at_, sizeof *at_); }
  /// Ends this process, whichever thread calls it.
  void come() const { come_to(getpid()); }
  /// Ends another one.
  void come_to(pid_t process) const {
    at_->store(rondo::now_ns(), std::memory_order_release);
    kill(process, SIGKILL);
  }
  // pairs with come_to()
  std::int64_t passed_ns() const { return rondo::now_ns() - at_->load(std::memory_order_acquire); }
  bool has_come() const { return at_->load(std::memory_order_acquire) != 0; }

 private:
  std::atomic<std::int64_t>* at_;
};

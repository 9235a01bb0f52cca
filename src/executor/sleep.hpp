// Sleeping until a peer signals: a word in shared memory that its rank alone writes and peers look at after each signal
// (docs/design/0011-waiting.md). No look is ordered with the signal, so one may be missed, and sleeps are short.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace rondo {

using SleepWord = std::atomic<std::uint32_t>;  ///< 1: some thread of its rank sleeps, or is about to
static_assert(SleepWord::is_always_lock_free && sizeof(SleepWord) == 4, "the kernel compares 4 bytes");

/// How many threads it woke.
inline long wake_sleepers(SleepWord& word) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Sleeps for less than a second, whatever comes.
inline void nap(std::int64_t ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

/// A thread's turns of sleeping in one wait. First it says that it will sleep, so that it looks once more before it does.
class Sleep {
 public:
  /// Null: nobody wakes this rank.
  explicit Sleep(SleepWord* word) : word_(word) {}
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;
  ~Sleep() { end(); }

  /// Says it, or sleeps for at most `most_ns` until a peer signals; without a word for `blind_ns`.
  void turn(std::int64_t most_ns, std::int64_t blind_ns) {
    if (word_ == nullptr) {
      nap(blind_ns);
    } else if (!announced_) {
      word_->store(1, std::memory_order_seq_cst);  // before the next look at what it waits for, as far as that can be had for nothing
      announced_ = true;
    } else {
      const timespec limit{0, most_ns};
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word_), FUTEX_WAIT, 1, &limit, nullptr, 0);
      end();
    }
  }

  /// It won't sleep after all.
  void end() {
    if (announced_) word_->store(0, std::memory_order_relaxed);
    announced_ = false;
  }

 private:
  SleepWord* word_;
  bool announced_ = false;
};

}  // namespace rondo

// A rank that is stopped by a signal until the others have had their way.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

/// In memory that the processes forked after it share. One rank is stopped and calls gone_on() when it has left its call; each of `others` calls let_go() when
/// what it may find is laid out.
class Stopped {
 public:
  static Stopped* shared(std::uint32_t others) {
    void* const memory = mmap(nullptr, sizeof(Stopped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Stopped(others);
  }
  static void release(Stopped* stopped) { munmap(stopped, sizeof(Stopped)); }

  /// This process, which will be stopped, goes on after so many seconds at the latest.
  static void go_on_after(int seconds) {
    (void)!std::system(("(sleep " + std::to_string(seconds) + "; kill -CONT " + std::to_string(getpid()) + ") >/dev/null 2>&1 &").c_str());
  }

  /// Async-signal-safe.
  void stop() {
    process_.store(getpid(), std::memory_order_seq_cst);
    raise(SIGSTOP);
  }
  void gone_on() { gone_on_.store(true, std::memory_order_seq_cst); }
  void let_go() { waited_for_.fetch_sub(1, std::memory_order_seq_cst); }

  /// Whether it has gone on, which all others must have let it, within half a minute.
  bool wait() {
    for (int tries = 0; tries < 3000 && !gone_on_.load(std::memory_order_seq_cst); ++tries) {
      const pid_t process = process_.load(std::memory_order_seq_cst);
      if (process != 0 && waited_for_.load(std::memory_order_seq_cst) == 0) kill(process, SIGCONT);
      usleep(10'000);
    }
    return gone_on_.load(std::memory_order_seq_cst);
  }

 private:
  explicit Stopped(std::uint32_t others) : waited_for_(others) {}

  std::atomic<pid_t> process_{0};
  std::atomic<std::uint32_t> waited_for_;
  std::atomic<bool> gone_on_{false};
};

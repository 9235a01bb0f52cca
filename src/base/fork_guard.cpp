#include "base/fork_guard.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace rondo {

std::atomic<std::uint64_t> forks_until_here{0};

namespace {

/// Forks of one process are its own business and so is this state. Never destroyed: a fork may come at any time.
struct Guarded {
  std::mutex mutex;
  std::vector<int> descriptors;
};

Guarded& guarded() {
  static Guarded* const all = [] {
    auto* made = new Guarded;
    // The lock is held over the fork, so that the child finds the list whole.
    pthread_atfork([] { guarded().mutex.lock(); }, [] { guarded().mutex.unlock(); },
                   [] {
                     for (const int fd : guarded().descriptors) close(fd);
                     guarded().descriptors.clear();
                     forks_until_here.fetch_add(1, std::memory_order_relaxed);
                     guarded().mutex.unlock();
                   });
    return made;
  }();
  return *all;
}

}  // namespace

void close_in_children(int fd) {
  const std::lock_guard lock(guarded().mutex);
  guarded().descriptors.push_back(fd);
}

void forget_in_children(int fd) {
  const std::lock_guard lock(guarded().mutex);
  auto& all = guarded().descriptors;
  all.erase(std::remove(all.begin(), all.end(), fd), all.end());
}

}  // namespace rondo

#include "base/fork_guard.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace rondo {
namespace {

std::atomic<std::uint64_t> generation{0};

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
                     generation.fetch_add(1, std::memory_order_relaxed);
                     guarded().mutex.unlock();
                   });
    return made;
  }();
  return *all;
}

}  // namespace

std::uint64_t fork_generation() { return generation.load(std::memory_order_relaxed); }

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

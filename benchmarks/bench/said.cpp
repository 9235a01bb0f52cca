#include "said.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>

namespace {

/// Hashes of lines; 0: none yet. When the room is used up lines are said as often as they come.
struct Said {
  std::atomic<std::uint64_t> lines[64];
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
};

Said* said = nullptr;

}  // namespace

void share_what_is_said() {
  void* memory = mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) said = new (memory) Said{};  // refused: every rank speaks
}

bool first_to_say(const std::string& line) {
  if (said == nullptr) return true;
  const std::uint64_t hash = std::hash<std::string>{}(line) | 1;
  for (std::atomic<std::uint64_t>& known : said->lines) {
    std::uint64_t seen = 0;
    // relaxed: the hash is all there is to see, nothing is published with it
    if (known.compare_exchange_strong(seen, hash, std::memory_order_relaxed, std::memory_order_relaxed)) return true;
    if (seen == hash) return false;
  }
  return true;
}

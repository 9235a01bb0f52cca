#include "made_up_gpu/arena.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::test::made_up {
namespace {

constexpr std::uint64_t arena_bytes = std::uint64_t{16} << 30;  // pages that are touched alone take memory
constexpr std::uint64_t unit = 256;

struct Head {
  std::atomic<std::uint64_t> used;
  std::atomic<std::uint64_t> running;  ///< process << 32 | its kernels
};

/// Before anybody forks.
std::byte* const arena = static_cast<std::byte*>(
    mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

std::mutex free_lock;
// Never destroyed: threads that end a rank may outlive main().
auto& free_parts = *new std::map<std::uint64_t, std::vector<std::byte*>>;  // by what they take

std::uint64_t& size_before(std::byte* memory) { return *reinterpret_cast<std::uint64_t*>(memory - unit); }

Head& head() { return *reinterpret_cast<Head*>(arena); }

}  // namespace

std::byte* take_memory(std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + unit - 1) / unit * unit + unit;  // with its size before it
  {
    const std::lock_guard holds(free_lock);
    if (auto& fitting = free_parts[whole]; !fitting.empty()) {
      std::byte* const part = fitting.back();
      fitting.pop_back();
      return part;
    }
  }
  const std::uint64_t begin = head().used.fetch_add(whole, std::memory_order_relaxed) + unit;  // behind the head
  if (begin + whole > arena_bytes) return nullptr;
  size_before(arena + begin + unit) = whole;
  return arena + begin + unit;
}

void give_back(std::byte* memory) {
  if (memory == nullptr) return;
  const std::lock_guard holds(free_lock);
  free_parts[size_before(memory)].push_back(memory);
}

bool is_memory(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= arena && byte < arena + arena_bytes;
}

void enter_gpu() {
  const std::uint64_t own = static_cast<std::uint64_t>(getpid()) << 32;
  for (std::uint64_t seen = head().running.load(std::memory_order_relaxed);;) {
    const bool dead = seen != 0 && kill(static_cast<pid_t>(seen >> 32), 0) != 0;
    const std::uint64_t kernels = dead || (seen & 0xffffffff) == 0 ? 0 : seen & 0xffffffff;
    if (kernels != 0 && seen >> 32 != own >> 32) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      seen = head().running.load(std::memory_order_relaxed);
      continue;
    }
    if (head().running.compare_exchange_weak(seen, own | (kernels + 1), std::memory_order_acq_rel, std::memory_order_relaxed)) return;
  }
}

void leave_gpu() { head().running.fetch_sub(1, std::memory_order_acq_rel); }

}  // namespace rondo::test::made_up

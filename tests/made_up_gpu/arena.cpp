#include "made_up_gpu/arena.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::test::made_up {
namespace {

constexpr std::uint64_t gpu_bytes = std::uint64_t{8} << 30;  // pages that are touched alone take memory
constexpr int most_gpus = 4;
constexpr std::uint64_t unit = 256;

struct Head {
  std::atomic<std::uint64_t> used;
  std::atomic<std::uint64_t> running;  ///< process << 32 | its kernels
};

/// Before anybody forks.
std::byte* const arenas = static_cast<std::byte*>(
    mmap(nullptr, most_gpus * gpu_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

std::mutex free_lock;
// Never destroyed: threads that end a rank may outlive main().
auto& free_parts = *new std::map<std::pair<int, std::uint64_t>, std::vector<std::byte*>>;  // by GPU, and what they take

std::uint64_t& size_before(std::byte* memory) { return *reinterpret_cast<std::uint64_t*>(memory - unit); }

std::byte* arena(int gpu) { return arenas + static_cast<std::uint64_t>(gpu) * gpu_bytes; }
Head& head(int gpu) { return *reinterpret_cast<Head*>(arena(gpu)); }

}  // namespace

int gpu_count() {
  const char* const set = std::getenv("MADE_UP_GPUS");
  return set == nullptr ? 1 : std::clamp(std::atoi(set), 1, most_gpus);
}

bool gpus_are_apart() { return std::getenv("MADE_UP_GPUS_APART") != nullptr; }

std::byte* take_memory(int gpu, std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + unit - 1) / unit * unit + unit;  // with its size before it
  {
    const std::lock_guard holds(free_lock);
    if (auto& fitting = free_parts[{gpu, whole}]; !fitting.empty()) {
      std::byte* const part = fitting.back();
      fitting.pop_back();
      return part;
    }
  }
  const std::uint64_t begin = head(gpu).used.fetch_add(whole, std::memory_order_relaxed) + unit;  // behind the head
  if (begin + whole > gpu_bytes) return nullptr;
  size_before(arena(gpu) + begin + unit) = whole;
  return arena(gpu) + begin + unit;
}

void give_back(std::byte* memory) {
  if (memory == nullptr) return;
  const std::lock_guard holds(free_lock);
  free_parts[{gpu_of(memory), size_before(memory)}].push_back(memory);
}

int gpu_of(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= arenas && byte < arenas + most_gpus * gpu_bytes ? static_cast<int>(static_cast<std::uint64_t>(byte - arenas) / gpu_bytes) : -1;
}

void enter_gpu(int gpu) {
  const std::uint64_t own = static_cast<std::uint64_t>(getpid()) << 32;
  for (std::uint64_t seen = head(gpu).running.load(std::memory_order_relaxed);;) {
    const bool dead = seen != 0 && kill(static_cast<pid_t>(seen >> 32), 0) != 0;
    const std::uint64_t kernels = dead || (seen & 0xffffffff) == 0 ? 0 : seen & 0xffffffff;
    if (kernels != 0 && seen >> 32 != own >> 32) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      seen = head(gpu).running.load(std::memory_order_relaxed);
      continue;
    }
    if (head(gpu).running.compare_exchange_weak(seen, own | (kernels + 1), std::memory_order_acq_rel, std::memory_order_relaxed)) return;
  }
}

void leave_gpu(int gpu) { head(gpu).running.fetch_sub(1, std::memory_order_acq_rel); }

}  // namespace rondo::test::made_up

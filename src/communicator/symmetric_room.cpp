#include "communicator/symmetric_room.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string>

namespace rondo {
namespace {

constexpr std::uint64_t least_room = std::uint64_t{1} << 30;
constexpr std::uint64_t all_rooms = std::uint64_t{1} << 45;  // of the 2^47 bytes that a process has

bool is_limited(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

bool can_map(std::uint64_t bytes) {
  void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place != MAP_FAILED && munmap(place, bytes) == 0;
}

Error no_memory(std::uint64_t bytes, const std::string& why) {
  return Error{Errc::out_of_resources, "no " + std::to_string(bytes) + " bytes of symmetric memory: " + why, 0, "allocate"};
}

}  // namespace

std::uint64_t symmetric_room_bytes(std::uint32_t ranks) {
  const long pages = sysconf(_SC_PHYS_PAGES);
  if (pages <= 0 || is_limited(RLIMIT_AS) || is_limited(RLIMIT_FSIZE)) return 0;
  const std::uint64_t memory = std::bit_ceil(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  std::uint64_t room = std::min(memory, all_rooms / std::bit_ceil(ranks));
  while (room >= least_room && !can_map(room * ranks)) room /= 2;
  return room >= least_room ? room : 0;
}

SymmetricRoom::SymmetricRoom(Transport& transport, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes)
    : transport_(transport), rank_(rank), offset_(offset), bytes_(bytes) {}

Result<std::byte*> SymmetricRoom::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_) return no_memory(bytes, "the room for it has " + std::to_string(bytes_));
  const std::uint64_t whole = whole_pages(bytes);
  std::uint64_t place = 0;  // the first gap that is long enough
  for (const auto& [offset, length] : taken_) {
    if (offset - place >= whole) break;
    place = offset + length;
  }
  if (place + whole > bytes_) return no_memory(bytes, "the room for it, " + std::to_string(bytes_) + " bytes, is full");
  if (auto committed = transport_.commit(offset_ + place, whole); !committed) return no_memory(bytes, committed.error().detail);
  taken_.emplace(place, whole);
  generation_.fetch_add(1, std::memory_order_release);
  return begin() + place;
}

void SymmetricRoom::give_back(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(static_cast<std::uint64_t>(memory - begin()));
  if (found == taken_.end()) return;
  transport_.give_back(offset_ + found->first, found->second);
  taken_.erase(found);
  generation_.fetch_add(1, std::memory_order_release);
}

SymmetricRoom::Place SymmetricRoom::place_of(const void* buffer, std::uint64_t bytes, Known& known) const {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  const auto within = [&] { return address >= known.begin && address < known.end; };
  const auto answer = [&] { return bytes <= known.end - address ? Place::inside : Place::too_long; };
  if (within() && known.generation == generation_.load(std::memory_order_acquire)) return answer();
  if (!holds(buffer)) return Place::elsewhere;
  const auto begin = reinterpret_cast<std::uintptr_t>(this->begin());
  const std::lock_guard lock(mutex_);
  const auto above = taken_.upper_bound(address - begin);
  if (above == taken_.begin()) return Place::freed;
  const auto& [offset, length] = *std::prev(above);
  known = {begin + offset, begin + offset + length, generation_.load(std::memory_order_relaxed)};
  return within() ? answer() : Place::freed;
}

}  // namespace rondo

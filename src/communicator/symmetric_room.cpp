#include "communicator/symmetric_room.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

#include "base/log.hpp"

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
  for (const auto& [offset, taken] : taken_) {
    if (offset - place >= whole) break;
    place = offset + taken.bytes;
  }
  if (place + whole > bytes_) return no_memory(bytes, "the room for it, " + std::to_string(bytes_) + " bytes, is full");
  if (auto committed = transport_.commit(offset_ + place, whole); !committed) return no_memory(bytes, committed.error().detail);
  taken_.emplace(place, Taken{whole});
  generation_.fetch_add(1, std::memory_order_release);
  return begin() + place;
}

void SymmetricRoom::give_back(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(static_cast<std::uint64_t>(memory - begin()));
  if (found == taken_.end()) return;
  found->second.freed = true;
  if (!found->second.left) {
    transport_.give_back(offset_ + found->first, found->second.bytes);
    taken_.erase(found);
  }
  generation_.fetch_add(1, std::memory_order_release);
}

void SymmetricRoom::leave(std::byte* buffer, std::uint64_t bytes) {
  if (!holds(buffer)) return;  // of a rank that gets nothing
  const std::lock_guard lock(mutex_);
  const auto known = around(reinterpret_cast<std::uintptr_t>(buffer));
  if (known == taken_.end()) return;
  taken_[known->first].left = true;
  generation_.fetch_add(1, std::memory_order_release);
  const std::uint64_t first = static_cast<std::uint64_t>(buffer - begin()) / symmetric_page * symmetric_page;
  const std::uint64_t length = whole_pages(static_cast<std::uint64_t>(buffer - begin()) + bytes - first);
  void* const copy = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy != MAP_FAILED) std::memcpy(copy, begin() + first, length);
  if (copy == MAP_FAILED || mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, begin() + first) == MAP_FAILED)
    log_error("no memory for a copy of " + std::to_string(length) + " bytes: a rank that is stopped may yet write into them");
}

std::map<std::uint64_t, SymmetricRoom::Taken>::const_iterator SymmetricRoom::around(std::uintptr_t address) const {
  const auto above = taken_.upper_bound(address - reinterpret_cast<std::uintptr_t>(begin()));
  return above == taken_.begin() ? taken_.end() : std::prev(above);
}

SymmetricRoom::Place SymmetricRoom::place_of(const void* buffer, std::uint64_t bytes, Known& known) const {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  const auto within = [&] { return address >= known.begin && address < known.end; };
  const auto answer = [&] { return bytes <= known.end - address ? Place::inside : Place::too_long; };
  if (within() && known.generation == generation_.load(std::memory_order_acquire)) return answer();
  if (!holds(buffer)) return Place::elsewhere;
  const auto begin = reinterpret_cast<std::uintptr_t>(this->begin());
  const std::lock_guard lock(mutex_);
  const auto found = around(address);
  if (found == taken_.end()) return Place::freed;
  const auto& [offset, taken] = *found;
  const SymmetricRoom::Known of_it{begin + offset, begin + offset + taken.bytes, generation_.load(std::memory_order_relaxed)};
  if (taken.freed || address >= of_it.end) return Place::freed;
  if (taken.left) return Place::elsewhere;
  known = of_it;
  return answer();
}

}  // namespace rondo

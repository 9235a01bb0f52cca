// The memory that allocate() gives: a part of this rank's segment, which all ranks of its family have mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// Symmetric memory comes in whole pages, at least one. `bytes` are few enough to be addressed.
inline constexpr std::uint64_t symmetric_page = 4096;
constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return bytes == 0 ? symmetric_page : (bytes + symmetric_page - 1) / symmetric_page * symmetric_page;
}

/// Address space that a rank of a communicator of processes sets aside for such memory: as much as the machine has, less where
/// this process couldn't map so much of each of `ranks` ranks; 0 where its limits (ulimit -v, -f) are set.
std::uint64_t symmetric_room_bytes(std::uint32_t ranks);

/// Thread-safe.
class SymmetricRoom {
 public:
  /// `bytes` from `offset` on in the segment of rank `rank`, once the transport has made it. 0 bytes: there is none.
  SymmetricRoom(Transport& transport, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes);

  /// Zeroed memory at a page's beginning. Error out_of_resources: no room, or no memory.
  Result<std::byte*> take(std::uint64_t bytes);
  /// Gives back what take() gave.
  void give_back(std::byte* memory);
  /// To peers that may write there at any time: the pages of `bytes` from `buffer` on, if they lie in memory that take() gave. This process goes on with
  /// a copy of them, in the same place. All of that memory is the process's own from then on, and no other gets its place.
  void leave(std::byte* buffer, std::uint64_t bytes);

  enum class Place : std::uint8_t {
    elsewhere,
    inside,
    freed,    ///< in the room, and in nothing that take() gave and has not back
    too_long  ///< begins in such memory and ends behind it
  };
  /// Where `bytes` from `buffer` on lie. The one that asks again about the memory of its last answer pays some comparisons.
  struct Known {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t generation = 0;
  };
  Place place_of(const void* buffer, std::uint64_t bytes, Known& known) const;
  /// Whether they lie inside by that answer alone. False doesn't mean that they don't.
  bool is_known(const void* buffer, std::uint64_t bytes, const Known& known) const {
    const auto address = reinterpret_cast<std::uintptr_t>(buffer);
    return address >= known.begin && address < known.end && bytes <= known.end - address && known.generation == generation_.load(std::memory_order_acquire);
  }

  /// Whether an address is in the room, taken or not.
  bool holds(const void* buffer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(buffer);
    return address - reinterpret_cast<std::uintptr_t>(begin()) < bytes_;
  }

  /// Whether anything has ever been taken: until then nothing is inside.
  bool used() const { return generation_.load(std::memory_order_relaxed) != 0; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::byte* begin() const { return transport_.segment(rank_) + offset_; }

  Transport& transport_;
  const std::uint32_t rank_;
  const std::uint64_t offset_;
  const std::uint64_t bytes_;
  mutable std::mutex mutex_;
  struct Taken {
    std::uint64_t bytes = 0;
    bool left = false;   ///< some of its pages
    bool freed = false;  ///< then, too
  };
  /// The last that begins at this address or before; the end: none does.
  std::map<std::uint64_t, Taken>::const_iterator around(std::uintptr_t address) const;
  std::map<std::uint64_t, Taken> taken_;          // by their offset in the room
  std::atomic<std::uint64_t> generation_{0};      // grows with each change
};

}  // namespace rondo

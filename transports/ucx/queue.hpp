// One direction of one link: a window of slots that UCX sends from or receives into.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/transport.hpp"

namespace rondo::ucx {

inline constexpr std::size_t window = 4;          ///< messages under way in one direction of a link
inline constexpr std::size_t payload_offset = 64; ///< the header comes first, payloads stay aligned

/// A message's memory and UCX's request while one is under way.
struct Slot {
  std::vector<std::byte> memory;
  void* request = nullptr;
  bool filled = false;  ///< receiving: holds a message not yet released
  bool broken = false;  ///< the last request ended badly

  std::byte* data() {  // vectors of bytes are aligned to 16 only
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (64 - address % 64) % 64;
  }
  void reserve(std::uint64_t bytes) {
    if (memory.size() < bytes + 64) memory.resize(bytes + 64);
  }
};

struct Queue {
  std::array<Slot, window> slots;
  std::uint64_t next = 0;          ///< of the slot to use next
  std::uint64_t message_bytes = 0; ///< sending: what post() sends
};

}  // namespace rondo::ucx

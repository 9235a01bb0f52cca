// Memory to measure with: whole pages, touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace rondo::calibration {

inline constexpr std::uint64_t line_bytes = 64;  ///< of a cache

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

/// Null when there is none.
inline Memory allocate(std::uint64_t bytes) {
  constexpr std::uint64_t page = 4096;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(page, (bytes + page - 1) / page * page)));
  if (memory) std::memset(memory.get(), 0, bytes);
  return memory;
}

}  // namespace rondo::calibration

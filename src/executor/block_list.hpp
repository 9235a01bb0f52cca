// Buffers whose blocks lie apart (docs/design/0025-blocks-apart.md). In the place of such a buffer's address is that of the list of its blocks, a pointer for
// each rank, with a bit that no address of a program has: also where ranks tell one another of their buffers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

inline constexpr std::uint64_t list_mark = std::uint64_t{1} << 63;

inline std::byte* as_buffer(void* const* blocks) { return reinterpret_cast<std::byte*>(reinterpret_cast<std::uint64_t>(blocks) | list_mark); }
inline bool is_list(const std::byte* buffer) { return (reinterpret_cast<std::uint64_t>(buffer) & list_mark) != 0; }
/// Where block `block` has its entry in a list.
inline std::byte* entry_of(const std::byte* list, std::uint32_t block) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uint64_t>(list) & ~list_mark) + block * sizeof(void*));
}
/// Of a list in this process.
inline std::byte* listed_block(const std::byte* list, std::uint32_t block) { return *reinterpret_cast<std::byte* const*>(entry_of(list, block)); }

}  // namespace rondo

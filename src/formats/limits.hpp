// What a file may ask for. They keep a hostile file from claiming more memory than its own size would explain; the
// largest public plans stay two orders of magnitude below.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::formats {

inline constexpr std::size_t max_file_bytes = std::size_t{32} << 20;
inline constexpr std::uint32_t max_ranks = 1 << 14;
inline constexpr std::uint32_t max_chunks = 1 << 16;  // of one buffer of one rank
inline constexpr std::uint32_t max_channels = 1 << 16;
inline constexpr std::uint64_t max_all_chunks = 1 << 22;      // of all buffers of all ranks
inline constexpr std::uint64_t max_chunk_accesses = 1 << 24;  // of all steps

}  // namespace rondo::formats

// The tensors of one launch of cuda_combine_lists, as they travel in the kernel's parameters.
#pragma once

#include <cstdint>

#include "kernels/cuda/lists_loops.hpp"
#include "rondo/cuda_kernels.hpp"

namespace rondo::cuda {

inline constexpr unsigned lists_threads = 256;  ///< of a block

/// Elements of a tile: four packs for each of a block's threads. Longer ones leave the last blocks alone, shorter ones keep too little under way, and in
/// equal runs of tiles for each block instead memory is read in as many places as there are blocks, and slower.
template <class S, class D>
inline constexpr std::uint32_t tile_elements = 4 * lists_threads * elements_in_pack<S, D>;

/// Tensors by number: where the tiles of each begin, its length, and its addresses in all lists. Tiles are numbered through the tensors; no tensor has none.
struct ListsTable {
  static constexpr std::uint32_t room = 4000;  ///< entries: parameters have 32,764 bytes at most (CUDA 12.1, compute capability 7.0)
  std::uint32_t tensors = 0;
  std::uint32_t sources = 0;
  std::uint32_t destinations = 0;
  std::uint32_t tiles = 0;
  float scale = 1;
  std::uint64_t entries[room];  ///< for each tensor: its first tile, its length, its addresses

  RONDO_HD std::uint32_t entries_each() const { return 2 + sources + destinations; }
  RONDO_HD std::uint64_t first_tile(std::uint32_t tensor) const { return entries[tensor * entries_each()]; }
  RONDO_HD std::uint64_t count(std::uint32_t tensor) const { return entries[tensor * entries_each() + 1]; }
  /// Its sources, then its destinations.
  RONDO_HD const std::uint64_t* addresses(std::uint32_t tensor) const { return entries + tensor * entries_each() + 2; }

  /// The tensor that has a tile: the last one whose first tile isn't behind it.
  RONDO_HD std::uint32_t tensor_of(std::uint32_t tile) const {
    std::uint32_t low = 0, high = tensors;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      if (first_tile(middle) <= tile) low = middle;
      else high = middle;
    }
    return low;
  }
};

/// Fills a table with as many tensors as it has room for, from `tensor` on; returns the first that it left.
inline std::uint64_t fill_table(ListsTable& table, const CudaLists& lists, std::uint64_t tensor, std::uint32_t tile_elements) {
  table.tensors = table.tiles = 0;
  table.sources = lists.source_count;
  table.destinations = lists.destination_count;
  table.scale = lists.scale;
  const std::uint32_t most = ListsTable::room / table.entries_each();
  constexpr std::uint32_t most_tiles = 1u << 30;
  std::uint64_t* entry = table.entries;
  for (; tensor < lists.tensor_count && table.tensors < most; ++tensor) {
    const std::uint64_t tiles = (lists.counts[tensor] + tile_elements - 1) / tile_elements;
    if (tiles == 0) continue;
    if (table.tensors != 0 && table.tiles + tiles > most_tiles) break;
    *entry++ = table.tiles;
    *entry++ = lists.counts[tensor];
    for (std::uint32_t s = 0; s < lists.source_count; ++s) *entry++ = reinterpret_cast<std::uintptr_t>(lists.sources[s * lists.tensor_count + tensor]);
    for (std::uint32_t d = 0; d < lists.destination_count; ++d)
      *entry++ = reinterpret_cast<std::uintptr_t>(lists.destinations[d * lists.tensor_count + tensor]);
    table.tiles += static_cast<std::uint32_t>(tiles);
    ++table.tensors;
  }
  return tensor;
}

}  // namespace rondo::cuda

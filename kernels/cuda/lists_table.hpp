// The tensors of one launch of cuda_combine_lists, as they travel in the kernel's parameters.
#pragma once

#include <cstdint>

#include "kernels/cuda/lists_loops.hpp"
#include "rondo/cuda_kernels.hpp"

namespace rondo::cuda {

/// What is dealt out to blocks: so many elements of a tensor, which begin as far from a multiple of 16 bytes as the tensor does.
inline constexpr std::uint32_t tile_elements = 512;

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

  /// Where the share of block `block` of `blocks` begins: equal shares, of tiles that follow one another.
  RONDO_HD std::uint32_t share(std::uint32_t block, std::uint32_t blocks) const { return static_cast<std::uint32_t>(std::uint64_t{tiles} * block / blocks); }

  /// Of the tiles from `begin` to `end`, those that lie in one tensor with the first: one piece of work. `tensor` has the tile `begin`.
  struct Run {
    std::uint64_t first;  ///< element
    std::uint32_t count;  ///< elements
    std::uint32_t end;    ///< the tile behind it
  };
  RONDO_HD Run run(std::uint32_t tensor, std::uint32_t begin, std::uint32_t end) const {
    const std::uint32_t next = tensor + 1 < tensors ? static_cast<std::uint32_t>(first_tile(tensor + 1)) : tiles;
    const std::uint32_t stop = next < end ? next : end;
    const std::uint64_t first = (begin - first_tile(tensor)) * tile_elements;
    const std::uint64_t left = count(tensor) - first, whole = std::uint64_t{stop - begin} * tile_elements;
    return {first, static_cast<std::uint32_t>(left < whole ? left : whole), stop};
  }

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
inline std::uint64_t fill_table(ListsTable& table, const CudaLists& lists, std::uint64_t tensor) {
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

// Lists of tensors added in f32: the work of a block on one tile of one tensor. Hosts compile it, too.
#pragma once

#include <cstdint>

#include "kernels/cuda/lanes.hpp"
#include "kernels/cuda/pack.hpp"

namespace rondo::cuda {

inline constexpr std::uint32_t most_lists = 8;  ///< on a side

/// Elements first to first + count - 1 of a tensor, in all lists.
struct Tile {
  const void* const* sources;
  void* const* destinations;
  std::uint32_t source_count;
  std::uint32_t destination_count;
  std::uint64_t first;
  std::uint32_t count;
  float scale;
};

/// Sources `first` to `first` + n - 1 along the tree, n a power of two.
template <unsigned first, unsigned n, class P>
RONDO_HD inline float sum_of(const P* packs, unsigned word, unsigned e) {
  if constexpr (n == 1) return widen(element_of<typename P::Element>(packs[first].words[word], e));
  else return sum_of<first, n / 2>(packs, word, e) + sum_of<first + n / 2, n / 2>(packs, word, e);
}

/// Every element -0, which a sum with anything leaves as it is: in the place of sources that there aren't, it makes the tree of fewer of that of eight.
template <class P>
RONDO_HD inline P nothing() {
  using S = typename P::Element;
  P pack{};
  RONDO_UNROLL
  for (unsigned w = 0; w < P::words_in_pack; ++w) {
    RONDO_UNROLL
    for (unsigned e = 0; e < elements_in_word<S>; ++e) pack.words[w] |= in_place<S>(narrow<S>(-0.0f), e);
  }
  return pack;
}

/// Elements in a pack: 16 bytes of the longer type.
template <class S, class D>
inline constexpr unsigned elements_in_pack = 16 / (sizeof(S) > sizeof(D) ? sizeof(S) : sizeof(D));

/// Up to n sources, n a power of two (exactly that many below 8), `unroll` packs at a time, all of which are loaded before the first is used. Returns the
/// number of the first pack that it left.
template <class S, class D, unsigned n, unsigned unroll>
RONDO_HD inline std::uint32_t add_packs(const Tile& tile, std::uint64_t first, std::uint32_t packs, std::uint32_t pack, unsigned stride) {
  constexpr unsigned elements = elements_in_pack<S, D>;
  using From = Pack<S, elements * sizeof(S)>;
  using To = Pack<D, elements * sizeof(D)>;
  const std::uint32_t sources = n < most_lists ? n : tile.source_count;
  const unsigned source_step = stride * sizeof(From), destination_step = stride * sizeof(To);
  RONDO_ROLLED
  for (; pack + (unroll - 1) * stride < packs; pack += unroll * stride) {
    const std::uint64_t element = first + pack * elements;
    From loaded[unroll][n];
    RONDO_UNROLL
    for (unsigned s = 0; s < n; ++s) {
      if (s >= sources) {
        loaded[0][s] = nothing<From>();  // of eight; unroll is 1 there
        continue;
      }
      const void* from = at(tile.sources[s], element * sizeof(S));
      RONDO_UNROLL
      for (unsigned u = 0; u < unroll; ++u, from = at(from, source_step)) loaded[u][s] = From::load(from);
    }
    RONDO_UNROLL
    for (unsigned u = 0; u < unroll; ++u) {
      To result{};
      RONDO_UNROLL
      for (unsigned e = 0; e < elements; ++e) {
        const float sum = sum_of<0, n>(loaded[u], e / elements_in_word<S>, e % elements_in_word<S>);
        result.words[e / elements_in_word<D>] |= in_place<D>(narrow<D>(sum * tile.scale), e % elements_in_word<D>);
      }
      RONDO_ROLLED
      for (std::uint32_t d = 0; d < tile.destination_count; ++d)
        result.put(at(tile.destinations[d], element * sizeof(D) + u * destination_step));
    }
  }
  return pack;
}

template <class S, class D, unsigned n, unsigned unroll>
RONDO_HD inline void add_all_packs(const Tile& tile, std::uint64_t first, std::uint32_t packs, Lanes lanes) {
  std::uint32_t left = lanes.index;
  if constexpr (unroll > 2) left = add_packs<S, D, n, unroll>(tile, first, packs, left, lanes.count);
  if constexpr (unroll > 1) left = add_packs<S, D, n, 2>(tile, first, packs, left, lanes.count);
  add_packs<S, D, n, 1>(tile, first, packs, left, lanes.count);
}

/// One element: of a word, of which memory may have less.
template <class S, class D>
RONDO_HD inline void add_element(const Tile& tile, std::uint64_t element) {
  using From = Pack<S, 4>;
  From loaded[most_lists];
  RONDO_UNROLL
  for (unsigned s = 0; s < most_lists; ++s)
    loaded[s] = s < tile.source_count ? From::load(at(tile.sources[s], element * sizeof(S)), sizeof(S)) : nothing<From>();
  Pack<D, 4> result;
  result.words[0] = in_place<D>(narrow<D>(sum_of<0, most_lists>(loaded, 0, 0) * tile.scale), 0);
  RONDO_ROLLED
  for (std::uint32_t d = 0; d < tile.destination_count; ++d) result.put(at(tile.destinations[d], element * sizeof(D)), sizeof(D));
}

/// Elements before the first pack, where all buffers begin their packs at the same element; else all of them.
template <class S, class D>
RONDO_HD inline std::uint32_t elements_before_packs(const Tile& tile) {
  constexpr unsigned elements = elements_in_pack<S, D>;
  const auto phase = [&](const void* base, unsigned size) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(base) / size + tile.first) % elements;
  };
  const unsigned wanted = phase(tile.sources[0], sizeof(S));
  unsigned differing = 0;
  for (std::uint32_t s = 1; s < tile.source_count; ++s) differing |= phase(tile.sources[s], sizeof(S)) ^ wanted;
  for (std::uint32_t d = 0; d < tile.destination_count; ++d) differing |= phase(tile.destinations[d], sizeof(D)) ^ wanted;
  const std::uint32_t before = (elements - wanted) % elements;
  return differing != 0 || before > tile.count ? tile.count : before;
}

/// A whole tile.
template <class S, class D>
RONDO_HD inline void add_tile(const Tile& tile, Lanes lanes) {
  constexpr unsigned elements = elements_in_pack<S, D>;
  const std::uint32_t before = elements_before_packs<S, D>(tile);
  const std::uint32_t packs = (tile.count - before) / elements;
  if (packs != 0) {
    const std::uint64_t first = tile.first + before;
    if (tile.source_count == 1) add_all_packs<S, D, 1, 4>(tile, first, packs, lanes);
    else if (tile.source_count == 2) add_all_packs<S, D, 2, 4>(tile, first, packs, lanes);
    else if (tile.source_count == 4) add_all_packs<S, D, 4, 2>(tile, first, packs, lanes);
    else add_all_packs<S, D, 8, 1>(tile, first, packs, lanes);
  }
  const std::uint32_t outside = tile.count - packs * elements;
  RONDO_ROLLED
  for (std::uint32_t i = lanes.index; i < outside; i += lanes.count) add_element<S, D>(tile, tile.first + (i < before ? i : i + packs * elements));
}

}  // namespace rondo::cuda

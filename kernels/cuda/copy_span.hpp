// A span copied to several places, shared by threads.
#pragma once

#include <cstdint>

#include "kernels/cuda/lanes.hpp"
#include "kernels/cuda/pack.hpp"

namespace rondo::cuda {

/// `unroll` packs or shorter units at a time: all are loaded before the first is stored. Returns the number of the first unit that it left.
template <unsigned bytes, unsigned unroll>
RONDO_HD inline std::uint64_t copy_units(void* const* destinations, std::uint32_t destination_count, const void* source, const Units& units,
                                         std::uint64_t unit, unsigned stride) {
  using P = Pack<std::uint8_t, bytes>;
  const std::uint64_t step = std::uint64_t{stride} * units.bytes;
  RONDO_ROLLED
  for (; unit + std::uint64_t{unroll - 1} * stride < units.count; unit += std::uint64_t{unroll} * stride) {
    const std::uint64_t offset = units.place(unit);
    P loaded[unroll];
    const void* from = at(source, offset);
    RONDO_UNROLL
    for (unsigned u = 0; u < unroll; ++u, from = at(from, step)) loaded[u] = P::load(from, units.bytes);
    RONDO_ROLLED
    for (std::uint32_t d = 0; d < destination_count; ++d) {
      void* to = at(destinations[d], offset);
      RONDO_UNROLL
      for (unsigned u = 0; u < unroll; ++u, to = at(to, step)) loaded[u].put(to, units.bytes);
    }
  }
  return unit;
}

/// All units, which have no gap.
template <unsigned bytes>
RONDO_HD inline void copy_all_units(void* const* destinations, std::uint32_t destination_count, const void* source, const Units& units, Lanes lanes) {
  const std::uint64_t left = copy_units<bytes, 8>(destinations, destination_count, source, units, lanes.index, lanes.count);
  copy_units<bytes, 1>(destinations, destination_count, source, units, left, lanes.count);
}

/// Copies `bytes` to each of the destinations; the caller is one of lanes.count threads, each of which makes the same call with an index of its own. A byte is
/// moved by one thread alone. A destination may be the source exactly, and must not overlap it otherwise. Any alignment; 16 bytes at a time where
/// all addresses are equally far from a multiple of it, else 4, 2 or 1. There is no barrier in it.
RONDO_HD RONDO_OUT_OF_LINE inline void copy_span(void* const* destinations, std::uint32_t destination_count, const void* source, std::uint64_t bytes,
                                                 Lanes lanes) {
  Alignment alignment(source);
  for (std::uint32_t d = 0; d < destination_count; ++d) alignment.also(destinations[d]);
  const unsigned unit = alignment.common(16) ? 16 : alignment.common(4) ? 4 : alignment.common(2) ? 2 : 1;
  const Split split(bytes, alignment.before_multiple(unit), unit);
  if (unit == 16) copy_all_units<16>(destinations, destination_count, source, split.inside(16), lanes);
  else copy_all_units<4>(destinations, destination_count, source, split.inside(unit), lanes);
  copy_units<4, 1>(destinations, destination_count, source, split.outside(1), lanes.index, lanes.count);
}

}  // namespace rondo::cuda

// How the threads that share a span divide it, by where its buffers lie.
#pragma once

#include <cstdint>

#include "kernels/cuda/host_device.hpp"

namespace rondo::cuda {

/// Which of the threads that share a span this one is.
struct Lanes {
  unsigned index;
  unsigned count;
};

RONDO_HD inline const void* at(const void* base, std::uint64_t offset) { return static_cast<const unsigned char*>(base) + offset; }
RONDO_HD inline void* at(void* base, std::uint64_t offset) { return static_cast<unsigned char*>(base) + offset; }

/// In how many of the last four bits of their addresses buffers differ.
class Alignment {
 public:
  RONDO_HD explicit Alignment(const void* first) : first_(reinterpret_cast<std::uintptr_t>(first)) {}
  RONDO_HD void also(const void* other) { differing_ |= reinterpret_cast<std::uintptr_t>(other) ^ first_; }
  /// Whether all are equally far from a multiple of `bytes`.
  RONDO_HD bool common(unsigned bytes) const { return (differing_ & (bytes - 1)) == 0; }
  /// Bytes before the next multiple of `bytes`.
  RONDO_HD unsigned before_multiple(unsigned bytes) const { return static_cast<unsigned>(0 - first_) & (bytes - 1); }

 private:
  std::uintptr_t first_;
  std::uintptr_t differing_ = 0;
};

/// Units of equal length in a span, with a gap between two of them.
struct Units {
  std::uint64_t count;
  unsigned bytes;       ///< of each
  std::uint64_t begin;  ///< of the first
  std::uint64_t gap_at;
  std::uint64_t gap;

  RONDO_HD std::uint64_t place(std::uint64_t i) const {
    const std::uint64_t offset = begin + i * bytes;
    return offset < gap_at ? offset : offset + gap;
  }
};

/// A span of bytes as packs of equal length and what lies outside of them, before and behind.
struct Split {
  std::uint64_t bytes;
  std::uint64_t begin;  ///< of the packs
  std::uint64_t packs;
  std::uint64_t packed_bytes;

  /// No packs.
  RONDO_HD explicit Split(std::uint64_t all) : bytes(all), begin(0), packs(0), packed_bytes(0) {}
  RONDO_HD Split(std::uint64_t all, unsigned before, unsigned pack_bytes) : bytes(all), begin(before < all ? before : all) {
    packs = (all - begin) / pack_bytes;
    packed_bytes = packs * pack_bytes;
  }
  RONDO_HD Units inside(unsigned unit) const { return {packed_bytes / unit, unit, begin, bytes, 0}; }
  RONDO_HD Units outside(unsigned unit) const { return {(bytes - packed_bytes) / unit, unit, 0, begin, packed_bytes}; }
};

}  // namespace rondo::cuda

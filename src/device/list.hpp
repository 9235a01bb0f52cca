// The tensors of a call on a list, as its blocks get them (docs/design/0012-fused-buckets.md).
#pragma once

#include <cstdint>

#include "executor/segments.hpp"
#include "kernels/cuda/host_device.hpp"

namespace rondo::device {

/// That many ride in a kernel's arguments, which a graph keeps.
inline constexpr std::uint32_t most_segments = 900;

struct List {
  const Segment* segments = nullptr;
  std::uint32_t count = 0;

  /// The one in which byte `at` of the list lies; there is such a byte.
  RONDO_HD const Segment* find(std::uint64_t at) const {
    std::uint32_t first = 0;
    for (std::uint32_t left = count; left > 1;) {
      const std::uint32_t half = left / 2;
      if (segments[first + half].begin <= at) first += half;
      left -= half;
    }
    return segments + first;
  }
};

}  // namespace rondo::device

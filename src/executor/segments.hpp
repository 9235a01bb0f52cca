// The tensors of one all_reduce_fused call, which its plan sees as one buffer (docs/design/0012-fused-buckets.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// A run of the one buffer that lies in one place.
struct Segment {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::uint64_t begin = 0;  ///< bytes of the buffer before it
  std::uint64_t end = 0;

  bool in_place() const { return input == output; }
};

/// They follow one another, and none is empty.
struct SegmentTable {
  std::vector<Segment> segments;

  std::uint64_t bytes() const { return segments.empty() ? 0 : segments.back().end; }

  /// Adds a tensor behind the others. One that lies behind the last one is a part of that: views of one flat buffer do.
  void add(const void* input, void* output, std::uint64_t bytes) {
    if (bytes == 0) return;
    const auto* const from = static_cast<const std::byte*>(input);
    auto* const to = static_cast<std::byte*>(output);
    const std::uint64_t begin = this->bytes();
    if (!segments.empty()) {
      Segment& last = segments.back();
      if (from == last.input + (begin - last.begin) && to == last.output + (begin - last.begin)) {
        last.end += bytes;
        return;
      }
    }
    segments.push_back({from, to, begin, begin + bytes});
  }

  /// The one in which byte `at` of the buffer lies; there is such a byte.
  const Segment* find(std::uint64_t at) const {
    const auto behind = std::upper_bound(segments.begin(), segments.end(), at, [](std::uint64_t byte, const Segment& one) { return byte < one.begin; });
    return &*(behind - 1);
  }
};

}  // namespace rondo

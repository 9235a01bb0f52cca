// Checksums of what passes between ranks. kernels/cpu implements them.
#pragma once

#include <cstdint>

namespace rondo {
/// @addtogroup kernels
/// @{

/// A checksum of a string of bytes, which is given a part at a time. A change goes unnoticed once in 2^64. It guards against accidents, not
/// against whoever means to deceive. The same on every processor.
/// Source: docs/design/0016-integrity.md. Not thread-safe.
class Checksum {
 public:
  /// Of a string of `bytes` bytes; `place` and `number` say what it is, and strings that are something else have other checksums.
  Checksum(std::uint64_t bytes, std::uint64_t place, std::uint64_t number);

  /// The next part. All but the last are multiples of `part_bytes`.
  void add(const void* part, std::uint64_t bytes);
  /// The next part, and copies it to where another core reads it next. Regions don't overlap.
  void publish(void* destination, const void* part, std::uint64_t bytes);
  /// The next part, which another core has written, and copies it from there; with `streamed` past the caches, if the destination allows that. Regions
  /// don't overlap.
  void pull(void* destination, const void* part, std::uint64_t bytes, bool streamed);

  /// Once all parts are in.
  std::uint64_t value() const;

  void* state() { return columns_; }  ///< for kernels that form it on the way

  static constexpr std::uint64_t part_bytes = 256;  ///< what parts are multiples of

 private:
  alignas(64) std::uint64_t columns_[part_bytes / 2 / sizeof(std::uint64_t)];
};

/// @}
}  // namespace rondo

// What a rank does while it waits: it asks for the lines that it will write next (docs/design/0004-slot-protocol.md, "Asked for while waiting").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cache_hints.hpp"
#include "base/cpu_relax.hpp"

namespace rondo {

/// Lines to be asked for. All that comes of it are hints, so what lies there may be unmapped by the time. Of one rank, whose threads take turns.
class alignas(cache_line) Claims {
 public:
  /// Forgets those that it was at.
  void aim(const std::byte* begin, std::uint64_t bytes) {
    next_ = begin;
    left_ = bytes;
  }

  /// Between two looks at what is waited for: asks for so few lines that the next look isn't late, or, when none are left, lets the processor rest.
  void ask_or_relax() {
    if (left_ == 0) return cpu_relax();
    const std::uint64_t bytes = std::min(left_, at_once);
    for (std::uint64_t at = 0; at < bytes; at += cache_line) claim_line(next_ + at);
    next_ += bytes;
    left_ -= bytes;
  }

  const std::byte* next() const { return next_; }
  std::uint64_t left() const { return left_; }

 private:
  static constexpr std::uint64_t at_once = 8 * cache_line;

  const std::byte* next_ = nullptr;
  std::uint64_t left_ = 0;
};

}  // namespace rondo

// Memory for messages, kept for the next ones: what was used last is handed out first, as it is still in the cache.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace rondo::tcp {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Aligned to 64 bytes; what is in it is left as it is.
struct Buffer {
  std::unique_ptr<std::byte, FreeMemory> memory;
  std::uint32_t size_class = 0;  ///< 2^size_class bytes

  std::byte* data() const { return memory.get(); }
  explicit operator bool() const { return memory != nullptr; }
};

/// Not thread-safe.
class Buffers {
 public:
  /// Empty where there is no memory.
  Buffer take(std::uint64_t bytes) {
    const auto size_class = static_cast<std::uint32_t>(std::bit_width(bytes < 1024 ? std::uint64_t{1023} : bytes - 1));
    auto& kept = kept_[size_class];
    if (kept.empty())
      return {std::unique_ptr<std::byte, FreeMemory>(static_cast<std::byte*>(std::aligned_alloc(64, std::size_t{1} << size_class))), size_class};
    Buffer buffer = std::move(kept.back());
    kept.pop_back();
    return buffer;
  }

  void give(Buffer buffer) {
    auto& kept = kept_[buffer.size_class];
    if (kept.size() < most_kept) kept.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t most_kept = 64;
  std::array<std::vector<Buffer>, 65> kept_;
};

}  // namespace rondo::tcp

// A rank's user buffers, and the numbers in them: whole numbers small enough that every sum of f32 is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "compare/protocol.hpp"

namespace compare {

/// Elements of a rank's input and output: equal, or one block of the other.
struct Extent {
  std::size_t block;  ///< what MPI calls the count
  std::size_t input;
  std::size_t output;
};

inline Extent extent_of(const Case& what, std::uint32_t ranks) {
  const std::size_t all = what.bytes / sizeof(float);
  const std::size_t part = all / ranks;
  if (what.operation == Operation::reduce_scatter) return {part, part * ranks, part};
  if (what.operation == Operation::all_gather) return {part, part, part * ranks};
  return {all, all, all};
}

/// Two plain malloc buffers that grow as needed. Their pages are there before anything is timed.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() { release(); }

  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    release();
    first_ = allocate(bytes);
    second_ = allocate(bytes);
    bytes_ = bytes;
  }

  void release() {
    std::free(first_);
    std::free(second_);
    first_ = second_ = nullptr;
    bytes_ = 0;
  }

  float* input(const Case& what, std::uint32_t rank, std::uint32_t ranks) const {
    if (what.in_place == 0) return first_;
    const std::size_t own = what.operation == Operation::all_gather ? rank * extent_of(what, ranks).block : 0;
    return second_ + own;
  }

  float* output(const Case& what, std::uint32_t rank, std::uint32_t ranks) const {
    const bool inside = what.in_place != 0 && what.operation == Operation::reduce_scatter;
    return second_ + (inside ? rank * extent_of(what, ranks).block : 0);
  }

 private:
  static float* allocate(std::size_t bytes) {
    auto* memory = static_cast<float*>(std::malloc(bytes));
    if (memory == nullptr) std::abort();
    for (std::size_t i = 0; i < bytes / sizeof(float); i += 1024) memory[i] = 0;
    return memory;
  }

  float* first_ = nullptr;
  float* second_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The value that a rank contributes at a position of its input.
inline float contribution(std::uint32_t rank, std::size_t position) {
  return static_cast<float>((position % 1021 * 31 + rank * 17) % 64);
}

inline void fill(float* input, std::size_t count, std::uint32_t rank) {
  for (std::size_t i = 0; i < count; ++i) input[i] = contribution(rank, i);
}

/// Elements of `output` that differ from what the operation must give. Root of rooted operations: 0.
inline std::uint64_t count_wrong(const Case& what, const float* output, std::uint32_t rank, std::uint32_t ranks) {
  const Extent extent = extent_of(what, ranks);
  if (what.operation == Operation::reduce && rank != 0) return 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < extent.output; ++i) {
    float want = 0;
    if (what.operation == Operation::broadcast) {
      want = contribution(0, i);
    } else if (what.operation == Operation::all_gather) {
      want = contribution(static_cast<std::uint32_t>(i / extent.block), i % extent.block);
    } else {
      const std::size_t at = what.operation == Operation::reduce_scatter ? rank * extent.block + i : i;
      for (std::uint32_t r = 0; r < ranks; ++r) want += contribution(r, at);
    }
    wrong += output[i] == want ? 0 : 1;
  }
  return wrong;
}

}  // namespace compare

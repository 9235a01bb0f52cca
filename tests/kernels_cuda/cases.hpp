// One call of the GPU's kernels as a host has it, made by threads that run one after another, beside the same call of the processor's kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/span.hpp"
#include "rondo/kernels.hpp"

namespace cuda_kernel_test {

using rondo::DataType;
using rondo::KernelCall;
using rondo::ReduceOp;

/// Bytes at a chosen distance from a multiple of 16, with guards on both sides.
class Guarded {
 public:
  Guarded(std::size_t bytes, std::size_t offset) : bytes_(bytes + offset + 3 * edge, guard), size_(bytes) {
    begin_ = edge + (edge - reinterpret_cast<std::uintptr_t>(bytes_.data()) % edge) % edge + offset;
  }
  std::uint8_t* data() { return bytes_.data() + begin_; }
  const std::uint8_t* data() const { return bytes_.data() + begin_; }
  std::size_t size() const { return size_; }
  bool guards_untouched() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if ((i < begin_ || i >= begin_ + size_) && bytes_[i] != guard) return false;
    return true;
  }

 private:
  static constexpr std::size_t edge = 16;
  static constexpr std::uint8_t guard = 0xA5;
  std::vector<std::uint8_t> bytes_;
  std::size_t size_;
  std::size_t begin_;
};

/// What a call is, but for its data.
struct Case {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::size_t sources = 2, destinations = 1, count = 100;
  std::size_t offset = 0;   ///< elements between a multiple of 16 bytes and each buffer
  bool apart = false;       ///< buffer b lies b elements further
  std::size_t in_place = 0; ///< as many destinations are sources: the last ones, backwards
  unsigned threads = 1;
  std::uint64_t scaled_sources = 0;
  double scale = 1;
  std::int64_t integer_scale = 1;
  std::uint32_t divisor = 0;
};

std::string to_string(const Case& c);

/// Makes the call both ways, with random elements among special ones. Empty when the bits are the same, but for a NaN's, else what isn't right.
std::string difference(const Case& c, std::mt19937_64& random);

}  // namespace cuda_kernel_test

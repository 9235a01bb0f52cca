// Sums along the one tree of strict reductions (docs/design/0009-strict.md), and values that show every other order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "support/sanitized.hpp"

namespace rondo::test {

inline constexpr std::uint64_t most_summed = sanitized ? 40'000 : 150'000;  ///< elements

/// A rank's: of either sign, over sixteen decimal orders of magnitude, so that every other order of additions shows.
template <class T>
std::vector<T> values_of(std::uint32_t rank, std::uint64_t count) {
  std::mt19937_64 random(rank + 1);
  std::uniform_real_distribution<double> exponent(-8, 8);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>((random() % 2 == 0 ? 1 : -1) * std::pow(10.0, exponent(random)));
  return values;
}

/// Ranks first to end along the tree: the largest power of two below their number on the left.
template <class T>
T tree(const std::vector<std::vector<T>>& all, std::size_t first, std::size_t end, std::uint64_t element) {
  if (end - first == 1) return all[first][element];
  const std::size_t left = std::bit_floor(end - first - 1);
  volatile T sum = tree(all, first, first + left, element) + tree(all, first + left, end, element);
  return sum;
}

}  // namespace rondo::test

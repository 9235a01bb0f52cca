// Medians and quartiles of what a benchmark has seen.
#pragma once

#include <algorithm>
#include <vector>

namespace overhead_bench {

struct Spread {
  double low = 0, median = 0, high = 0;  ///< quartiles
};

inline Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return {at(1), at(2), at(3)};
}

}  // namespace overhead_bench

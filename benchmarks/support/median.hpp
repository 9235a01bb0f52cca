// The middle of measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench_support {

/// Of an even number the upper one of the two in the middle. There is one value at least.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace bench_support

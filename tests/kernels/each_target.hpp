// Every instruction set of this processor that the kernels are compiled for.
#pragma once

#include "base/vector_targets.hpp"

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/choose.hpp"

namespace kernel_test {

/// Calls `body` with each of them chosen in turn, the best one first.
template <class Body>
void with_each_target(const Body& body) {
  const auto here = static_cast<std::uint64_t>(hwy::SupportedTargets());
  for (std::uint64_t targets = static_cast<std::uint64_t>(HWY_TARGETS) & here; targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(static_cast<std::int64_t>(targets & (~targets + 1)));
    rondo::kernels::choose_target();
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  rondo::kernels::choose_target();
}

}  // namespace kernel_test

// The kernel whose time stands for all reductions: the sum of two sources.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/kernels.hpp"

namespace rondo::calibration {

/// `bytes` of f32 from `a` and `b` to `to`, which overlaps neither. `for_peers`: it is a slot that another core has read.
inline void add_floats(std::byte* to, const std::byte* a, const std::byte* b, std::uint64_t bytes, bool for_peers = false) {
  static const Kernel kernel = cpu_kernels().get(ReduceOp::sum, DataType::f32);
  static const bool claims_pay = cpu_stores().claims_pay;  // asked once: a hypervisor answers after 17 us
  const void* sources[] = {a, b};
  void* destinations[] = {to};
  KernelCall call;
  call.sources = sources;
  call.destinations = destinations;
  call.source_count = 2;
  call.destination_count = 1;
  call.count = bytes / sizeof(float);
  if (for_peers && claims_pay) call.claimed = 1;
  kernel(call);
}

}  // namespace rondo::calibration

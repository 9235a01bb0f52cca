// Torch's element types and reductions in the library's terms.
#pragma once

#include <ATen/ATen.h>
#include <rondo/rondo.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "arguments.hpp"

namespace rondo_torch {

/// Elements as the library sees them: `per_element` numbers of `type` for each element of a tensor.
struct Elements {
  rondo_type type = RONDO_U8;
  std::int64_t per_element = 1;
};

/// A reduction with what the library needs to run it.
struct Reduction {
  Elements elements;
  rondo_op op = RONDO_SUM;
  double factor = 1;  ///< of RONDO_PREMUL_SUM
};

/// Elements that are moved and not looked at: any type.
Elements moved(at::ScalarType type);

/// A call that moves elements: `elements` of a tensor's.
rondo_call move_call(rondo_collective collective, at::ScalarType type, const void* input, void* output, std::int64_t elements, std::int64_t root = 0);

/// Elements that are combined. Throws TypeError where the operation has no meaning for the type or the library can't: names both, and the call. Booleans are
/// combined as truth values (sum and max: or; product and min: and), complex numbers as pairs of real ones (sum, avg and premul_sum).
Reduction reduced(const CallId& id, at::ScalarType type, const c10d::ReduceOp& op);

}  // namespace rondo_torch

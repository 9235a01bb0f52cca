// Which call of its group something is, and what of its arguments is refused.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include "kinds.hpp"

namespace rondo_torch {

using Tensors = std::vector<at::Tensor>;

/// One call: printed it is "all_reduce #7 on rank 0".
struct CallId {
  const Kind* kind = nullptr;
  int rank = 0;
  std::uint64_t sequence = 0;  ///< in the group, from 1 on; 0: it isn't counted
};

std::ostream& operator<<(std::ostream& stream, const CallId& id);

/// Throws ValueError unless there is exactly one tensor that the library can take: `what` names it.
const at::Tensor& single(const CallId& id, const Tensors& tensors, const char* what);
/// Throws ValueError unless it is a dense tensor.
void check_dense(const CallId& id, const at::Tensor& tensor, const char* what);
/// Throws ValueError unless an operation's tensors, of which there are some, are on one device.
void check_devices(const CallId& id, const Tensors& inputs, const Tensors& outputs);
/// Throws TypeError unless an operation's input and output are of one type.
void check_types(const CallId& id, const at::Tensor& input, const at::Tensor& output);
/// Throws ValueError unless an operation has as many inputs as outputs, and some.
void check_lists(const CallId& id, const Tensors& inputs, const Tensors& outputs);

}  // namespace rondo_torch

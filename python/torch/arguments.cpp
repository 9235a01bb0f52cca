#include "arguments.hpp"

#include <c10/util/Exception.h>

#include <string_view>

namespace rondo_torch {

std::ostream& operator<<(std::ostream& stream, const CallId& id) {
  const std::string_view title = id.kind->title;
  stream << title.substr(title.find(':') + 1);
  if (id.sequence != 0) stream << " #" << id.sequence;
  return stream << " on rank " << id.rank;
}

void check_dense(const CallId& id, const at::Tensor& tensor, const char* what) {
  TORCH_CHECK_VALUE(tensor.defined(), "rondo: ", id, ": ", what, " is no tensor");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "rondo: ", id, ": ", what, " has the layout ", tensor.layout(), "; accepted: strided");
}

const at::Tensor& single(const CallId& id, const Tensors& tensors, const char* what) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "rondo: ", id, ": ", tensors.size(), " tensors as ", what, "; accepted: one");
  check_dense(id, tensors.front(), what);
  return tensors.front();
}

void check_devices(const CallId& id, const Tensors& inputs, const Tensors& outputs) {
  const at::Device device = (inputs.empty() ? outputs : inputs).front().device();
  for (const Tensors* tensors : {&inputs, &outputs})
    for (const at::Tensor& tensor : *tensors)
      TORCH_CHECK_VALUE(tensor.device() == device, "rondo: ", id, ": tensors on ", device, " and ", tensor.device(), "; accepted: all of one device");
}

void check_types(const CallId& id, const at::Tensor& input, const at::Tensor& output) {
  TORCH_CHECK_TYPE(input.scalar_type() == output.scalar_type(), "rondo: ", id, ": ", input.scalar_type(), " into ", output.scalar_type(),
                   "; accepted: one type");
}

void check_lists(const CallId& id, const Tensors& inputs, const Tensors& outputs) {
  TORCH_CHECK_VALUE(!outputs.empty() && outputs.size() == inputs.size(), "rondo: ", id, ": ", inputs.size(), " inputs and ", outputs.size(),
                    " outputs; accepted: as many of both, at least one");
}

}  // namespace rondo_torch

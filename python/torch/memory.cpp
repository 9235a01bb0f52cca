// Tensors in memory that a group's ranks map: what torch asks a backend for where it wants buffers that communication is fastest with.
#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "backend.hpp"

namespace rondo_torch {

at::Tensor Backend::allocateTensor(long size, at::TensorOptions options) {
  TORCH_CHECK_VALUE(size >= 0, "rondo: allocate_tensor of ", size, " elements; accepted: 0 or more");
  if (!options.device().is_cpu()) return at::empty({size}, options);
  const std::uint64_t bytes = static_cast<std::uint64_t>(size) * options.dtype().itemsize();
  rondo_memory* memory = nullptr;
  const rondo_status status = rondo_allocate(group_.communicator(), bytes, &memory);
  if (status == RONDO_OUT_OF_RESOURCES) return at::zeros({size}, options);
  if (status != RONDO_SUCCESS) throw_failure(status, c10::str("allocate_tensor of ", bytes, " bytes on rank ", rank_));
  return at::from_blob(rondo_memory_data(memory), {size}, [memory](void*) { rondo_memory_destroy(memory); }, options);
}

}  // namespace rondo_torch

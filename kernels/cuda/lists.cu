// cuda_combine_lists: checks a call and launches it, in parts where its table is longer than a kernel's parameters.
#include <algorithm>
#include <string>

#include "kernels/cuda/multiprocessors.hpp"
#include "kernels/cuda/lists_kernel.cuh"

namespace rondo {
namespace {

using cuda::ListsTable;

cuda::ListsKernel kernel_of(CudaFloat from, CudaFloat to) {
  switch (from) {
    case CudaFloat::f32: return cuda::lists_from_f32(to);
    case CudaFloat::f16: return cuda::lists_from_f16(to);
    case CudaFloat::bf16: return cuda::lists_from_bf16(to);
    case CudaFloat::e4m3: return cuda::lists_from_e4m3(to);
    case CudaFloat::e5m2: return cuda::lists_from_e5m2(to);
    case CudaFloat::f64: break;
  }
  return {};
}

Error wrong(const std::string& what) { return Error{Errc::invalid_argument, "cuda_combine_lists: " + what, 0, "cuda"}; }

}  // namespace

Result<void> cuda_combine_lists(const CudaLists& lists, void* stream, unsigned blocks) {
  const auto in_range = [](std::uint32_t n) { return n >= 1 && n <= cuda::most_lists; };
  if (!in_range(lists.source_count)) return wrong(std::to_string(lists.source_count) + " source lists; 1 to 8 are accepted");
  if (!in_range(lists.destination_count)) return wrong(std::to_string(lists.destination_count) + " destination lists; 1 to 8 are accepted");
  const cuda::ListsKernel kernel = kernel_of(lists.source_type, lists.destination_type);
  if (kernel.start == nullptr) return wrong("f64 isn't accepted: f16, bf16, f32, e4m3 and e5m2 are");
  const auto multiprocessors = cuda::multiprocessors();
  if (!multiprocessors) return multiprocessors.error();
  // Four blocks run on a multiprocessor at once. Four times as many let the last of them end together; more than that look for their tiles too often.
  const std::uint32_t most = blocks != 0 ? blocks : 16 * *multiprocessors;
  for (std::uint64_t tensor = 0; tensor < lists.tensor_count;) {
    ListsTable table;
    tensor = cuda::fill_table(table, lists, tensor, kernel.tile_elements);
    if (table.tiles == 0) continue;
    void* arguments[] = {&table};
    const cudaError_t status = cudaLaunchKernel(reinterpret_cast<const void*>(kernel.start), dim3(std::min(table.tiles, most)), dim3(cuda::lists_threads),
                                                arguments, 0, static_cast<cudaStream_t>(stream));
    if (status != cudaSuccess) return cuda_error(status, "cuda_combine_lists");
  }
  return {};
}

}  // namespace rondo

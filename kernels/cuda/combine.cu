// cuda_combine: checks a call and launches it.
#include <algorithm>
#include <string>

#include "kernels/cuda/combine_kernel.cuh"
#include "kernels/cuda/multiprocessors.hpp"

namespace rondo {
namespace {

cuda::CombineKernel kernel_of(DataType type) {
  for (const auto family : {cuda::combine_bytes, cuda::combine_shorts, cuda::combine_words, cuda::combine_longs, cuda::combine_halves, cuda::combine_floats})
    if (const auto kernel = family(type); kernel != nullptr) return kernel;
  return nullptr;
}

Error wrong(const std::string& what) { return Error{Errc::invalid_argument, "cuda_combine: " + what, 0, "cuda"}; }

Result<void> check(const KernelCall& call, DataType type, ReduceOp op) {
  const auto in_range = [](std::uint32_t n) { return n >= 1 && n <= cuda_combine_limit; };
  if (!in_range(call.source_count)) return wrong(std::to_string(call.source_count) + " sources; 1 to 64 are accepted");
  if (!in_range(call.destination_count)) return wrong(std::to_string(call.destination_count) + " destinations; 1 to 64 are accepted");
  if (!is_defined(op, type)) return wrong(std::string(to_string(op)) + " isn't defined for " + std::string(to_string(type)));
  const bool adds = op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::premul_sum;
  if (!adds && (call.scaled_sources != 0 || call.divisor != 0)) return wrong("only sums are scaled or divided, not " + std::string(to_string(op)));
  return {};
}

}  // namespace

Result<void> cuda_combine(const KernelCall& call, DataType type, ReduceOp op, void* stream, unsigned blocks) {
  if (Result<void> checked = check(call, type, op); !checked) return checked;
  const auto multiprocessors = cuda::multiprocessors();
  if (!multiprocessors) return multiprocessors.error();
  if (call.count == 0) return {};
  cuda::PackedCall packed{};
  packed.call = call;
  packed.op = op;
  std::copy_n(call.sources, call.source_count, packed.sources);
  std::copy_n(call.destinations, call.destination_count, packed.destinations);
  // Two blocks run on a multiprocessor at once; one that had less than a pack for each thread would only wait for the others.
  const std::uint64_t useful = (call.count * size_of(type) + 16 * cuda::combine_threads - 1) / (16 * cuda::combine_threads);
  const std::uint64_t most = blocks != 0 ? blocks : 2 * *multiprocessors;
  void* arguments[] = {&packed};
  const cudaError_t status = cudaLaunchKernel(reinterpret_cast<const void*>(kernel_of(type)), dim3(static_cast<unsigned>(std::min(useful, most))),
                                              dim3(cuda::combine_threads), arguments, 0, static_cast<cudaStream_t>(stream));
  if (status != cudaSuccess) return cuda_error(status, "cuda_combine");
  return {};
}

}  // namespace rondo

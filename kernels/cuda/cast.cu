// cuda_cast. Between types that f32 holds it is a list of one tensor; what has f64 on a side goes by elements.
#include <algorithm>

#include "kernels/cuda/cast_element.hpp"
#include "kernels/cuda/multiprocessors.hpp"
#include "rondo/cuda_kernels.hpp"

namespace rondo {
namespace {

constexpr unsigned cast_threads = 256;

template <class S, class D>
__global__ void cast_kernel(void* destination, const void* source, std::uint64_t count, double scale) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * cast_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * cast_threads + threadIdx.x; i < count; i += stride)
    static_cast<D*>(destination)[i] = cuda::from_double<D>(cuda::to_double(static_cast<const S*>(source)[i]) * scale);
}

using CastKernel = void (*)(void*, const void*, std::uint64_t, double);

template <class T>
CastKernel with_f64(bool from_f64) {
  return from_f64 ? cast_kernel<double, T> : cast_kernel<T, double>;
}

CastKernel kernel_of(CudaFloat other, bool from_f64) {
  switch (other) {
    case CudaFloat::f16: return with_f64<cuda::F16>(from_f64);
    case CudaFloat::bf16: return with_f64<cuda::Bf16>(from_f64);
    case CudaFloat::f32: return with_f64<float>(from_f64);
    case CudaFloat::e4m3: return with_f64<cuda::E4m3>(from_f64);
    case CudaFloat::e5m2: return with_f64<cuda::E5m2>(from_f64);
    case CudaFloat::f64: break;
  }
  return cast_kernel<double, double>;
}

}  // namespace

Result<void> cuda_cast(void* destination, CudaFloat to, const void* source, CudaFloat from, std::uint64_t count, double scale, void* stream) {
  if (to != CudaFloat::f64 && from != CudaFloat::f64)
    return cuda_combine_lists({&count, &source, &destination, 1, 1, 1, from, to, static_cast<float>(scale)}, stream);
  const auto multiprocessors = cuda::multiprocessors();
  if (!multiprocessors) return multiprocessors.error();
  if (count == 0) return {};
  const CastKernel kernel = kernel_of(from == CudaFloat::f64 ? to : from, from == CudaFloat::f64);
  const std::uint64_t blocks = std::min<std::uint64_t>((count + cast_threads - 1) / cast_threads, 64 * *multiprocessors);
  void* arguments[] = {&destination, &source, &count, &scale};
  const cudaError_t status = cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)), dim3(cast_threads), arguments, 0,
                                              static_cast<cudaStream_t>(stream));
  if (status != cudaSuccess) return cuda_error(status, "cuda_cast");
  return {};
}

}  // namespace rondo

// What a build without CUDA says.
#include "rondo/cuda_kernels.hpp"

namespace rondo {
namespace {

Error without_cuda() { return Error{Errc::unsupported, "this build of Rondo has no CUDA: nvcc was not found when it was configured", 0, "CUDA"}; }

}  // namespace

Result<void> cuda_combine(const KernelCall&, DataType, ReduceOp, void*, unsigned) { return without_cuda(); }
Result<void> cuda_cast(void*, CudaFloat, const void*, CudaFloat, std::uint64_t, double, void*) { return without_cuda(); }
Result<void> cuda_combine_lists(const CudaLists&, void*, unsigned) { return without_cuda(); }

}  // namespace rondo

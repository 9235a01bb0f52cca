// What a build without CUDA says.
#include "rondo/cuda.hpp"
#include "rondo/cuda_kernels.hpp"

namespace rondo {

class CudaCommunicator::Impl {};

namespace {

Error without_cuda() {
  return Error{Errc::unsupported, "this build of Rondo has no CUDA: nvcc was not found when it was configured, or RONDO_CUDA was OFF", 0, "CUDA"};
}

}  // namespace

std::string cuda_version() { return {}; }

Result<int> current_cuda_device() { return without_cuda(); }

Result<CudaCommunicator> CudaCommunicator::create(Communicator&, const CudaOptions&) { return without_cuda(); }

// Nobody has one.
CudaCommunicator::CudaCommunicator(CudaCommunicator&&) noexcept = default;
CudaCommunicator& CudaCommunicator::operator=(CudaCommunicator&&) noexcept = default;
CudaCommunicator::~CudaCommunicator() = default;
std::uint32_t CudaCommunicator::rank() const { return 0; }
std::uint32_t CudaCommunicator::size() const { return 0; }
int CudaCommunicator::device() const { return -1; }
std::uint32_t CudaCommunicator::blocks() const { return 0; }
Result<void> CudaCommunicator::run(const Call&, void*) { return Error{Errc::unsupported, "built without CUDA"}; }
Result<void> CudaCommunicator::all_reduce_fused(const Bucket&, void*) { return Error{Errc::unsupported, "built without CUDA"}; }
Result<void> CudaCommunicator::exchange(std::span<const CudaMessage>) { return Error{Errc::unsupported, "built without CUDA"}; }
Result<void> CudaCommunicator::all_to_all_v(const void*, const Blocks&, void*, const Blocks&, DataType, void*) {
  return Error{Errc::unsupported, "built without CUDA"};
}
Result<void> CudaCommunicator::check() const { return Error{Errc::unsupported, "built without CUDA"}; }
Result<void> CudaCommunicator::use_plan(const Plan&, bool) { return Error{Errc::unsupported, "built without CUDA"}; }
Result<Plan> CudaCommunicator::plan_for(const Call&) const { return Error{Errc::unsupported, "built without CUDA"}; }
Result<void> CudaCommunicator::set_timeout(std::chrono::nanoseconds) { return Error{Errc::unsupported, "built without CUDA"}; }
void CudaCommunicator::abort() {}

Result<void> cuda_combine(const KernelCall&, DataType, ReduceOp, void*, unsigned) { return without_cuda(); }
Result<void> cuda_cast(void*, CudaFloat, const void*, CudaFloat, std::uint64_t, double, void*) { return without_cuda(); }
Result<void> cuda_combine_lists(const CudaLists&, void*, unsigned) { return without_cuda(); }

}  // namespace rondo

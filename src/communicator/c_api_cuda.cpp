// The C interface: kernels of GPUs.
#include "communicator/c_api.hpp"
#include "rondo/cuda_kernels.hpp"
#include "rondo/rondo_cuda.h"

using namespace rondo;
using namespace rondo::c;

namespace {

bool is_float(rondo_cuda_float type) { return type >= RONDO_CUDA_F16 && type <= RONDO_CUDA_E5M2; }

}  // namespace

extern "C" {

rondo_status rondo_cuda_combine_lists(const rondo_cuda_lists* lists, void* stream) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"lists", lists}})) return *error;
    if (auto error = wrong_struct(lists, lists->size, sizeof *lists, "rondo_cuda_lists")) return *error;
    if (!is_float(lists->source_type) || !is_float(lists->destination_type)) return wrong("a list has a type that is none of rondo_cuda_float");
    CudaLists given;
    given.counts = lists->counts;
    given.sources = lists->sources;
    given.destinations = lists->destinations;
    given.tensor_count = lists->tensor_count;
    given.source_count = lists->source_count;
    given.destination_count = lists->destination_count;
    given.source_type = static_cast<CudaFloat>(lists->source_type);
    given.destination_type = static_cast<CudaFloat>(lists->destination_type);
    given.scale = lists->scale;
    return cuda_combine_lists(given, stream);
  });
}

}  // extern "C"

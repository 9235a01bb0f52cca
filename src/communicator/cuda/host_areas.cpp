#include "communicator/cuda/host_areas.hpp"

#include <cuda_runtime_api.h>

#include <utility>

#include "base/on_device.hpp"

namespace rondo {

Result<std::unique_ptr<HostAreas>> HostAreas::make(Communicator& host, std::shared_ptr<void> own, std::uint64_t bytes) {
  std::unique_ptr<HostAreas> areas(new HostAreas);
  areas->own_ = std::move(own);
  const auto places = host.map_peers(areas->own_.get(), bytes);
  if (!places) return places.error();
  for (void* const memory : *places)
    if (auto added = areas->add(memory, bytes); !added) return added.error();
  return areas;
}

HostAreas::~HostAreas() {
  for (void* const memory : registered_) (void)cudaHostUnregister(memory);
}

/// Other ranks of this process may have registered it: once is enough.
Result<void> HostAreas::add(void* memory, std::uint64_t bytes) {
  const cudaError_t status = cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (status == cudaSuccess) registered_.push_back(memory);
  else if (status == cudaErrorHostMemoryAlreadyRegistered) (void)cudaGetLastError();
  else return cuda_result(status, "making host memory known to CUDA");
  void* reached = nullptr;
  if (auto asked = cuda_result(cudaHostGetDevicePointer(&reached, memory, 0), "asking where a GPU reaches host memory"); !asked) return asked;
  areas_.push_back(static_cast<std::byte*>(reached));
  return {};
}

}  // namespace rondo

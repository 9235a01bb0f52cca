// Segments in GPU memory that ranks map: threads of one process by peer access, processes by CUDA's IPC handles.
#pragma once

#include <cstdint>
#include <memory>

#include "rondo/transport.hpp"

namespace rondo {

struct CudaIpcOptions {
  int device = 0;                   ///< by CUDA's number in this process
  std::uint64_t segment_bytes = 0;  ///< of this rank, zeroed; equal on all ranks
};

/// A mapped transport whose segments only GPUs may touch. address() takes the memory; connect() maps the peers'. Errors: unsupported (no driver, no GPU; a
/// GPU that can't map a peer's memory, with the reason), out_of_resources. Its memory goes back when it is destroyed: no kernel of any rank may use it then.
std::unique_ptr<Transport> make_cuda_ipc_transport(const CudaIpcOptions& options);

}  // namespace rondo

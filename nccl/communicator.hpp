// What an ncclComm_t stands for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "include/nccl.h"
#include "rondo/communicator.hpp"
#include "rondo/cuda.hpp"

namespace rondo::nccl {

/// This rank's factor of an operator.
struct Factor {
  ncclDataType_t type = ncclFloat32;
  double value = 1;
  const void* where = nullptr;  ///< read by each call; null: `value` is it
};

/// Whether buffers are plain memory and streams are ignored (RONDO_NCCL_HOST). Error invalid_argument: a wrong variable.
Result<bool> in_host_memory();

}  // namespace rondo::nccl

/// One rank. It is known from the call that makes it on, and made when `host` is there.
struct ncclComm {
  std::optional<rondo::Communicator> host;        ///< in host memory it runs the calls, else it is what the device's ranks met by
  std::optional<rondo::CudaCommunicator> device;  ///< none in host memory
  std::uint32_t rank = 0;
  std::uint32_t size = 1;

  std::mutex lock;                              ///< of the following
  std::map<int, rondo::nccl::Factor> factors;   ///< of the operators that ncclRedOpCreatePreMulSum() made, by their numbers
  std::optional<rondo::Error> broken;           ///< the first failure that ends a communicator
};

namespace rondo::nccl {

using Shared = std::shared_ptr<ncclComm>;

/// A handle for a rank that is still to be made.
Shared new_handle(std::uint32_t rank, std::uint32_t size);

/// The rank of a handle; null: it is none, or was destroyed, which failed() has said then.
Shared find(ncclComm_t handle);

/// The handle means nothing any more: the rank goes when its last call has ended. Null as find().
Shared forget(ncclComm_t handle);

/// Notes a failure after which nothing goes any more.
void note_failure(ncclComm& comm, const Error& error);

}  // namespace rondo::nccl

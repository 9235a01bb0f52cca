#include "communicator.hpp"

#include "base/config.hpp"
#include "failure.hpp"

namespace rondo::nccl {
namespace {

struct Handles {
  std::mutex lock;
  std::map<const ncclComm*, Shared> all;
};

/// Never destroyed: a program's own destructors may still hold handles.
Handles& handles() {
  static Handles* const made = new Handles;
  return *made;
}

Shared none_such() {
  (void)failed(ncclInvalidArgument, "the communicator is null, was destroyed, or is none");
  return nullptr;
}

}  // namespace

Result<bool> in_host_memory() {
  const auto& set = config();
  if (!set) return set.error();
  return set->nccl_host;
}

Shared new_handle(std::uint32_t rank, std::uint32_t size) {
  auto made = std::make_shared<ncclComm>();
  made->rank = rank;
  made->size = size;
  const std::lock_guard holds(handles().lock);
  handles().all.emplace(made.get(), made);
  return made;
}

Shared find(ncclComm_t handle) {
  const std::lock_guard holds(handles().lock);
  const auto at = handles().all.find(handle);
  return at == handles().all.end() ? none_such() : at->second;
}

Shared forget(ncclComm_t handle) {
  const std::lock_guard holds(handles().lock);
  const auto at = handles().all.find(handle);
  if (at == handles().all.end()) return none_such();
  Shared comm = std::move(at->second);
  handles().all.erase(at);
  return comm;
}

void note_failure(ncclComm& comm, const Error& error) {
  const bool ends_it = error.code != Errc::invalid_argument && error.code != Errc::unsupported;
  const std::lock_guard holds(comm.lock);
  if (ends_it && !comm.broken) comm.broken = error;
}

}  // namespace rondo::nccl

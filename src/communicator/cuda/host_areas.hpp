// The ranks' areas in host memory that all of them map, where a GPU can't map another's memory: what passes between them goes through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/communicator.hpp"
#include "rondo/result.hpp"

namespace rondo {

class HostAreas {
 public:
  /// A collective call of all ranks of `host`, each with zeroed memory of `bytes` that host.allocate() gave it. The current device is the rank's. Errors:
  /// unsupported (ranks that don't share memory), CUDA's.
  static Result<std::unique_ptr<HostAreas>> make(Communicator& host, std::shared_ptr<void> own, std::uint64_t bytes);
  ~HostAreas();
  HostAreas(const HostAreas&) = delete;
  HostAreas& operator=(const HostAreas&) = delete;

  /// As the GPUs of this process reach it.
  std::byte* of(std::uint32_t rank) const { return areas_[rank]; }

 private:
  HostAreas() = default;
  Result<void> add(void* memory, std::uint64_t bytes);

  std::shared_ptr<void> own_;
  std::vector<void*> registered_;  ///< with CUDA, by this rank
  std::vector<std::byte*> areas_;
};

}  // namespace rondo

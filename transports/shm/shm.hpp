// Shared memory between ranks of one machine: processes through memfds, or threads of one process.
#pragma once

#include <cstdint>
#include <memory>

#include "rondo/transport.hpp"

namespace rondo {

struct ShmOptions {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint64_t segment_bytes = 0;  ///< address space of a segment; memory is taken by commit()
};

/// A mapped transport. Nothing named is left behind, whatever is killed: segments are memfds, sealed against resizing, that
/// travel as descriptors in Address. A peer's death is seen through the hang-up of a pipe it holds.
/// Errors of its calls: out_of_resources (names the limit and the need), invalid_argument (a peer's address makes no sense).
std::unique_ptr<Transport> make_shm_transport(const ShmOptions& options);

/// Whether processes with these identities (see host_identity) can share memory; the reason when they can't.
Result<void> probe_shm(std::string_view own_host, std::string_view peer_host);

}  // namespace rondo

// Message links over UCX: ranks of different machines, or of one machine without shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/transport.hpp"

namespace rondo {

struct UcxOptions {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::vector<std::uint32_t> hosts = {};  ///< by rank: those of this rank's host aren't connected; empty: all are
};

/// Whether this machine has a network that UCX serves better than TCP does: InfiniBand, or what shows itself as such, where UCX has its module for that.
bool ucx_beats_tcp();

/// The version of the UCX that is found, and its file. Error unsupported: none is.
Result<std::string> ucx_found();

/// A message transport. UCX chooses among lanes other than shared memory and among protocols, where UCX_TLS, UCX_NET_DEVICES and the
/// like don't say otherwise; it writes nothing to stderr (setup.hpp).
/// Errors of its calls: unsupported (UCX isn't found or can't start here; says why), invalid_argument (a peer's address makes no sense).
Result<std::unique_ptr<Transport>> make_ucx_transport(const UcxOptions& options);

}  // namespace rondo

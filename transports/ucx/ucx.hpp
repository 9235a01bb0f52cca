// Message links over UCX: ranks of different machines, or of one machine without shared memory.
#pragma once

#include <cstdint>
#include <memory>

#include "rondo/transport.hpp"

namespace rondo {

struct UcxOptions {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
};

/// A message transport. UCX chooses lanes and protocols; its own environment variables keep working.
/// Errors of its calls: unsupported (UCX can't start here; says why), invalid_argument (a peer's address makes no sense).
Result<std::unique_ptr<Transport>> make_ucx_transport(const UcxOptions& options);

}  // namespace rondo

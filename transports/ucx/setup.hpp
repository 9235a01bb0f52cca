// How UCX is set up where UCX_ variables don't say otherwise, and without a word on stderr.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rondo/result.hpp"
#include "transports/ucx/library.hpp"

namespace rondo::ucx {

/// While one lives, what UCX says on this thread goes to Rondo's log, as debugging. Every call into UCX is made under one.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

/// A context for tagged messages. Error unsupported: UCX can't start here; says why. Needs a Quiet.
Result<ucp_context_h> make_context(const Library& ucp);

/// Whether UCX can be loaded and has its module for InfiniBand: a file of its own, which some builds lack, PyPI's among them.
bool knows_infiniband();

/// UCX's names of these network interfaces: of those that belong to a device for InfiniBand or RoCE that device's port, as "mlx5_0:1". Joined by commas.
std::string devices_of(const std::vector<std::string>& interfaces, const std::filesystem::path& folder = "/sys/class/net");

/// What UCX says of a status, once it is loaded.
Error error_of(const std::string& what, ucs_status_t status);

}  // namespace rondo::ucx

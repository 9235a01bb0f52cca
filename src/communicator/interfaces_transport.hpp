// Several interfaces of a host as one transport. Design: docs/design/0021-hosts.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/planner.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// This rank's end. `links` has a message transport for each interface, all of one kind; which of them carries a channel says `interfaces`.
std::unique_ptr<Transport> make_interfaces_transport(std::vector<std::unique_ptr<Transport>> links, Interfaces interfaces, std::uint32_t rank);

}  // namespace rondo

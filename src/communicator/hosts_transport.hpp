// Two transports as one: memory among the ranks of one host, messages between hosts. Design: docs/design/0021-hosts.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rondo/transport.hpp"

namespace rondo {

/// This rank's end. `memory` maps the ranks of its host, in their order, and is set up; `links` serves the ranks of other hosts, by their numbers in the
/// whole group: address() and connect() are its. `hosts` has a number for each rank.
std::unique_ptr<Transport> make_hosts_transport(std::shared_ptr<Transport> memory, std::shared_ptr<Transport> links, const std::vector<std::uint32_t>& hosts,
                                                std::uint32_t rank);

/// The ranks of `rank`'s host, ascending.
std::vector<std::uint32_t> ranks_of_host(const std::vector<std::uint32_t>& hosts, std::uint32_t rank);

}  // namespace rondo

// From hwloc's objects to nodes and links.
#pragma once

#include <map>
#include <string>

#include "rondo/topology.hpp"
#include "topology/hwloc_objects.hpp"

namespace rondo {

/// The topology of one machine. `identity` becomes hosts[0]; `network_speeds` are bytes/s of interfaces by name, as the
/// operating system tells them.
Topology build_topology(const hwloc::File& file, const std::string& identity,
                        const std::map<std::string, double>& network_speeds = {});

}  // namespace rondo

// Ways between devices: along any links, but never through a third accelerator.
#pragma once

#include <cstdint>

#include "rondo/topology.hpp"

namespace rondo {

/// The way on which a large message is there first. Bandwidth 0: there is none. Takes time in proportion to the links.
PathCost device_path(const Topology& topology, std::uint32_t from, std::uint32_t to);

}  // namespace rondo

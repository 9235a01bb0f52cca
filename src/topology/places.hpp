// Where a set of processors lies in a topology.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// The deepest node of `host` that contains all of `cpus` (ascending); −1 if none does or `cpus` is empty.
std::int32_t deepest_node(const Topology& topology, std::uint32_t host, const std::vector<std::uint32_t>& cpus);

}  // namespace rondo

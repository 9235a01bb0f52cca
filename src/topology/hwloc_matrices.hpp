// The figures in an hwloc XML: distance matrices and memory attributes.
#pragma once

#include <pugixml.hpp>
#include <vector>

#include "topology/hwloc_objects.hpp"

namespace rondo::hwloc {

/// All matrices below <topology>; those whose numbers don't add up are left out.
std::vector<Matrix> read_matrices(const pugi::xml_node& topology);

/// Bandwidth and latency of memory nodes, the best initiator's each.
std::vector<MemoryFigure> read_memory_figures(const pugi::xml_node& topology);

}  // namespace rondo::hwloc

// NVML's facts → links of a topology's graph.
#pragma once

#include <string>
#include <vector>

#include "rondo/topology.hpp"
#include "topology/nvml.hpp"

namespace rondo {

/// GPUs are told by their PCI addresses on host 0; those that the topology doesn't have, and links that it has already, are left out.
void add_gpu_links(Topology& topology, const nvml::Facts& facts);

/// Puts rank r on the GPU whose PCI address is addresses[r], if there are as many GPUs as ranks; else says false and changes nothing.
bool place_on_gpus(Topology& topology, const std::vector<std::string>& addresses);

}  // namespace rondo

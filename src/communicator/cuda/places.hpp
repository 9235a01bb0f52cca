// Which GPU each rank has in the machine's graph, for plans that follow its wires.
#pragma once

#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "rondo/result.hpp"

namespace rondo {

/// host's topology with what links the GPUs, as rank 0 sees it, so that all ranks plan alike; its ranks are on the GPUs with these PCI addresses if they have
/// one each and the graph shows them, else where host has them. A collective call of all ranks of `host`. Errors: those of host.
Result<Topology> topology_of_gpus(Communicator& host, const std::vector<std::string>& addresses);

/// Bytes per second between those two ranks that have the narrowest way; 0: ranks aren't on GPUs of their own.
double narrowest_way(const Topology& topology);

}  // namespace rondo

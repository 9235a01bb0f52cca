// Links between accelerators beside PCI: NVLink, xGMI, and those to the processor of their module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// A GPU's links to one place, as one of their ends tells them.
struct Wire {
  enum class End : std::uint8_t {
    device,     ///< the one whose address `target` is
    switches,   ///< unless `target` is a device, those of the machine: one node, since traffic is spread over them evenly
    processor,  ///< likewise, the memory that the GPU's processor has
  };
  std::uint32_t gpu = 0;  ///< a node
  End end = End::device;
  std::string target;     ///< Node::address
  std::string type;       ///< "nvlink", "xgmi", "c2c"
  std::int64_t count = 0;
  Figure each;            ///< of one link, in one direction
};

/// Both ends of a wire between GPUs tell it; it is one link. What leads to a GPU that the topology doesn't have is left out.
void add_wires(Topology& topology, const std::vector<Wire>& wires);

}  // namespace rondo

// What a PCI or operating-system device is to Rondo.
#pragma once

#include <string>

#include "rondo/topology.hpp"
#include "topology/hwloc_objects.hpp"

namespace rondo {

/// A device as a node will show it.
struct DeviceFacts {
  NodeKind kind = NodeKind::other;
  std::string name;  ///< as the operating system calls it; empty where it has no name of its own
  std::string detail;
};

/// Looks at a PCIDev object and the OSDev objects below it, or at an OSDev object of its own.
DeviceFacts classify_device(const hwloc::Object& object);

}  // namespace rondo

#include <array>

#include "rondo/topology.hpp"

namespace rondo {

std::string_view to_string(NodeKind kind) {
  constexpr std::array<std::string_view, 11> names{"machine",    "package", "numa", "cache",      "core", "cpu",
                                                   "pci_bridge", "gpu",     "nic",  "net_switch", "other"};
  const auto index = static_cast<std::size_t>(kind);
  return index < names.size() ? names[index] : "unknown";
}

std::string_view to_string(Provenance provenance) {
  constexpr std::array<std::string_view, 3> names{"probed", "read", "assumed"};
  const auto index = static_cast<std::size_t>(provenance);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace rondo

// Which ranks are on one host, where links go to the others.
#pragma once

#include <cstdint>
#include <vector>

namespace rondo {

/// Whether two ranks are on one host. `hosts` has a number for each rank; where it is empty each rank has a host of its own.
inline bool share_host(const std::vector<std::uint32_t>& hosts, std::uint32_t a, std::uint32_t b) {
  return a == b || (a < hosts.size() && b < hosts.size() && hosts[a] == hosts[b]);
}

}  // namespace rondo

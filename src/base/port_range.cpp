#include "base/port_range.hpp"

#include <cerrno>
#include <cstring>

namespace rondo {

int bind_in(const PortRange& ports, int socket, const sockaddr* address, socklen_t length) {
  if (!ports.is_given()) return ::bind(socket, address, length);
  sockaddr_storage at{};
  std::memcpy(&at, address, length);
  int bound = -1;
  for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
    const auto number = htons(static_cast<std::uint16_t>(port));
    if (at.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&at)->sin6_port = number;
    else reinterpret_cast<sockaddr_in*>(&at)->sin_port = number;
    bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&at), length);
    if (bound == 0 || errno != EADDRINUSE) break;
  }
  return bound;
}

}  // namespace rondo

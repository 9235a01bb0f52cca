// Which ports others may be asked to call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace rondo {

/// first to last; or not given.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  bool is_given() const { return first != 0; }
  std::string none_free_at(const std::string& address) const {
    return "no port of RONDO_NET_PORTS=" + std::to_string(first) + "-" + std::to_string(last) + " is free at " + address;
  }
};

/// bind() to an address (IPv4 or IPv6) at the range's first port that is free; where no range is given at the address's own. What it returns, and errno.
int bind_in(const PortRange& ports, int socket, const sockaddr* address, socklen_t length);

}  // namespace rondo

// Which ports others may be asked to call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace rondo {

/// first to last, or those that the kernel gives.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  bool is_given() const { return first != 0; }
  std::string text() const { return std::to_string(first) + "-" + std::to_string(last); }
};

/// bind() to an address (IPv4 or IPv6) at the range's first port that is free, or one that the kernel gives. What it returns, and errno.
int bind_in(const PortRange& ports, int socket, const sockaddr* address, socklen_t length);

}  // namespace rondo

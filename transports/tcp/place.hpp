// Where a TCP transport can be called, and what who calls there says.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/live_fd.hpp"
#include "base/port_range.hpp"
#include "rondo/transport.hpp"

namespace rondo::tcp {

using Ticket = std::array<unsigned char, 32>;

/// A transport's address in bytes: where it listens, and what who calls there must know.
struct Place {
  char magic[8];
  sockaddr_in6 at;     ///< or a sockaddr_in, which is shorter
  std::uint64_t seat;  ///< which of the transports that are called there; random
  Ticket ticket;       ///< likewise, and a secret of the ranks

  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&at); }
  socklen_t length() const { return at.sin6_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
};

/// What a rank that calls says first. Whoever overhears it can say it once more, when the rank's place is taken, and nothing else.
struct Call {
  std::uint64_t seat;
  std::uint32_t rank;
  std::uint32_t reserved;
  std::array<unsigned char, 32> proof;  ///< HMAC-SHA256 of what is before, by the ticket
};

Call call_of(std::uint32_t rank, const Place& place);
/// Whether who says this knows the place's ticket.
bool is_proved(const Call& call, const Place& place);

/// As text: "10.0.0.1, port 4000".
std::string text_of(const Place& place);

/// Error: invalid_argument (what this rank sent is no place).
Result<Place> place_of(std::uint32_t rank, const Address& address);

/// A socket that listens there, and in `place` where that is; its seat is left as it is. Errors: invalid_argument (`address` isn't this machine's),
/// out_of_resources.
Result<LiveFd> listen_at(const std::string& address, const PortRange& ports, Place& place);

/// What all sockets between ranks are set to.
void tune(int socket);

}  // namespace rondo::tcp

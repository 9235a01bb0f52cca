// How the ranks of a TCP transport connect: each listens, and each calls those below it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "rondo/transport.hpp"

namespace rondo::tcp {

using Ticket = std::array<unsigned char, 32>;

/// A transport's address in bytes: where it listens, and what who calls there must show.
struct Place {
  char magic[8];
  sockaddr_in6 at;  ///< or a sockaddr_in, which is shorter
  Ticket ticket;
};

/// A place that listens, with a new ticket. Errors: invalid_argument (`address` isn't this machine's), out_of_resources.
Result<Fd> listen_at(const std::string& address, Place& place);

/// A socket for each other rank, by rank. Strangers at the listener are dropped. Blocks until `deadline_ns`. Errors: unsupported (names the rank that can't
/// be reached, and why), invalid_argument (a rank's address makes no sense), deadline_exceeded (names the ranks that didn't call).
Result<std::vector<Fd>> connect_all(std::uint32_t rank, const std::vector<Address>& all, const Fd& listener, const Ticket& own, std::int64_t deadline_ns);

}  // namespace rondo::tcp

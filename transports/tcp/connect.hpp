// How the ranks of a TCP transport connect: each listens, and each calls those below it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/port_range.hpp"
#include "base/share_host.hpp"
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
Result<Fd> listen_at(const std::string& address, const PortRange& ports, Place& place);

/// Whom a rank connects with: the ranks of other hosts, of which `hosts` has a number for each rank; or, where that is empty, all.
struct Party {
  std::uint32_t rank = 0;
  const std::vector<std::uint32_t>& hosts;
  bool reaches(std::uint32_t peer) const { return !share_host(hosts, rank, peer); }
};

/// A socket for each rank of the party's, by rank; null for the others. Strangers at the listener are dropped.
/// Blocks until `deadline_ns`, or until it `is_over` (where that is set). Errors: unsupported (names the rank that can't
/// be reached, and why), invalid_argument (a rank's address makes no sense), deadline_exceeded (names the ranks that didn't call), peer_failed (it is over).
Result<std::vector<Fd>> connect_all(const Party& party, const std::vector<Address>& all, const Fd& listener, const Ticket& own, std::int64_t deadline_ns,
                                    const std::function<bool()>& is_over);

}  // namespace rondo::tcp

// Message links over TCP: ranks of different machines where there is no faster network, or of one machine without shared memory.
// Design: docs/design/0018-tcp-links.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/port_range.hpp"
#include "rondo/transport.hpp"

namespace rondo {

struct TcpOptions {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::vector<std::uint32_t> hosts = {};  ///< by rank: those of this rank's host aren't connected; empty: all may be
  std::string address = "127.0.0.1";  ///< numeric, of this rank's machine: peers connect to it, and nothing else is listened on
  PortRange ports = {};               ///< where it is listened at
};

/// A message transport with a connection for each pair of ranks that has sent something: the first message calls the peer. A link takes 16 messages that the
/// peer hasn't released; then there is no slot. Whoever calls must know a ticket that travels in the address.
/// Errors of its calls: invalid_argument (the own address isn't this machine's, a peer's makes no sense), out_of_resources (descriptors; ports). A peer that
/// can't be reached is gone, and refusal() says why.
Result<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options);

}  // namespace rondo

#include "base/reachability.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace rondo {
namespace {

/// All zeros where the kernel doesn't say.
tcp_info state_of(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  (void)getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info;
}

}  // namespace

std::uint64_t unacknowledged(int socket) {
  int bytes = 0;
  (void)ioctl(socket, SIOCOUTQ, &bytes);
  return static_cast<std::uint64_t>(bytes);
}

bool has_packets_out(int socket) { return state_of(socket).tcpi_unacked != 0; }

bool is_cut_off(int socket) {
  constexpr unsigned char least_tries = 3;
  constexpr std::uint32_t patience_ms = 1500;
  const tcp_info info = state_of(socket);
  // probes: where this host has no way to the peer any more, so that nothing leaves at all
  const bool tried = info.tcpi_retransmits >= least_tries || info.tcpi_probes >= least_tries;
  return tried && info.tcpi_last_ack_recv > patience_ms && unacknowledged(socket) != 0;
}

void end_after(int socket, unsigned milliseconds) {
  (void)setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

void try_often(int socket) {
  const int yes = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &yes, sizeof yes);
}

}  // namespace rondo

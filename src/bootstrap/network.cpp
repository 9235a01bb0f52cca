#include "bootstrap/network.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "base/descriptors.hpp"
#include "bootstrap/meeting.hpp"

namespace rondo {
namespace {

Result<std::vector<PeerSocket>> meet(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, std::int64_t deadline_ns, const Result<void>& room,
                                     const StaysAway& stays_away, Fd listener) {
  if (rank == 0) {
    if (size == 1) return room ? Result<std::vector<PeerSocket>>(std::vector<PeerSocket>(1)) : room.error();
    auto door = open_network_door(place, deadline_ns, std::move(listener));
    if (!door) return room ? door.error() : room.error();
    return hold_meeting(**door, size, place.job, deadline_ns, room, stays_away);
  }
  auto first = come_to_network(rank, size, place, deadline_ns, room, stays_away);
  if (!first) return first.error();
  std::vector<PeerSocket> peers;
  peers.push_back(std::move(*first));
  return peers;
}

}  // namespace

Addresses resolve(const MeetingPlace& place, int& error) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  error = getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &wanted, &list);
  return Addresses(error == 0 ? list : nullptr);
}

std::string text_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) return "an unknown address";
  const bool colons = address->sa_family == AF_INET6;
  return (colons ? "[" : "") + std::string(host.data()) + (colons ? "]:" : ":") + port.data();
}

void tune(int socket) {
  const auto set = [socket](int level, int option, int value) { (void)setsockopt(socket, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // After a second without a word the peer's kernel is asked, and what it is sent it must acknowledge: within 1.7 s, in which it is sent three times
  // more, else the connection ends.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 1700);
}

Result<std::unique_ptr<Bootstrap>> make_network_bootstrap(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, std::int64_t deadline_ns,
                                                          const StaysAway& stays_away, Fd listener) {
  auto peers = meet(rank, size, place, deadline_ns, check_descriptors(size, 1), stays_away, std::move(listener));
  if (!peers) return peers.error();
  return make_star(rank, size, std::move(*peers), false);
}

}  // namespace rondo

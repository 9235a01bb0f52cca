#include "bootstrap/network.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "base/reachability.hpp"
#include "bootstrap/branches.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/met.hpp"

namespace rondo {

Addresses resolve(const MeetingPlace& place, int& error) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  error = getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &wanted, &list);
  return Addresses(error == 0 ? list : nullptr);
}

std::string host_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  return getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) == 0 ? host.data() : "";
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
  // After a second without a word the peer's kernel is asked, and what it is sent it must acknowledge within 1.7 s, in which it is sent again and again,
  // else the connection ends.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  end_after(socket, longest_silence_ms);
  try_often(socket);
}

Result<std::unique_ptr<Bootstrap>> make_network_bootstrap(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, std::int64_t deadline_ns,
                                                          const StaysAway& stays_away, Fd listener, std::uint32_t fan_out) {
  auto peers = meet_at_rank_0(
      rank, size, place.job, deadline_ns, stays_away, [&] { return open_network_door(place, deadline_ns, std::move(listener)); },
      [&](const Result<void>& own_trouble) { return come_to_network(rank, size, 0, place, deadline_ns, own_trouble, stays_away); });
  if (!peers) return peers.error();
  auto correspondence = std::make_unique<Correspondence>(rank, size, std::move(*peers), false);
  if (auto branched = branch_out(*correspondence, fan_out, place.key, deadline_ns); !branched) return branched.error();
  return make_met_bootstrap(std::move(correspondence));
}

}  // namespace rondo

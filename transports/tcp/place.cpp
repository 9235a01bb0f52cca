#include "transports/tcp/place.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sodium.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/descriptors.hpp"
#include "base/reachability.hpp"

namespace rondo::tcp {
namespace {

constexpr char place_magic[8] = {'r', 'o', 'n', 'd', 'o', 't', 'c', '2'};

/// The key is as long as HMAC-SHA256 takes it.
std::array<unsigned char, 32> proof_of(const Call& call, const Ticket& ticket) {
  static_assert(crypto_auth_hmacsha256_BYTES == 32 && crypto_auth_hmacsha256_KEYBYTES == sizeof(Ticket));
  std::array<unsigned char, 32> proof{};
  crypto_auth_hmacsha256(proof.data(), reinterpret_cast<const unsigned char*>(&call), offsetof(Call, proof), ticket.data());
  return proof;
}

Error in_tcp(Errc code, const std::string& detail, int number = 0) { return Error{code, detail, number, "tcp"}; }

}  // namespace

Call call_of(std::uint32_t rank, const Place& place) {
  Call call{place.seat, rank, 0, {}};
  call.proof = proof_of(call, place.ticket);
  return call;
}

bool is_proved(const Call& call, const Place& place) {
  return call.seat == place.seat && sodium_memcmp(call.proof.data(), proof_of(call, place.ticket).data(), call.proof.size()) == 0;
}

std::string text_of(const Place& place) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address = place.at.sin6_family == AF_INET6 ? static_cast<const void*>(&place.at.sin6_addr)
                                                         : &reinterpret_cast<const sockaddr_in*>(&place.at)->sin_addr;
  return std::string(inet_ntop(place.at.sin6_family, address, text.data(), text.size())) + ", port " + std::to_string(ntohs(place.at.sin6_port));
}

Result<Place> place_of(std::uint32_t rank, const Address& address) {
  Place place;
  const bool whole = address.bytes.size() == sizeof place;
  if (whole) std::memcpy(&place, address.bytes.data(), sizeof place);
  if (!whole || std::memcmp(place.magic, place_magic, sizeof place_magic) != 0 || (place.at.sin6_family != AF_INET && place.at.sin6_family != AF_INET6))
    return in_tcp(Errc::invalid_argument, "rank " + std::to_string(rank) + " sent no usable TCP address");
  return place;
}

Result<LiveFd> listen_at(const std::string& address, const PortRange& ports, Place& place) {
  std::memset(&place.at, 0, sizeof place.at);
  std::memcpy(place.magic, place_magic, sizeof place_magic);
  auto* short_form = reinterpret_cast<sockaddr_in*>(&place.at);
  if (inet_pton(AF_INET, address.c_str(), &short_form->sin_addr) == 1) short_form->sin_family = AF_INET;
  else if (inet_pton(AF_INET6, address.c_str(), &place.at.sin6_addr) == 1) place.at.sin6_family = AF_INET6;
  else return in_tcp(Errc::invalid_argument, "'" + address + "' is no numeric address");
  LiveFd listener(Fd(socket(place.at.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!listener) return no_descriptor_left("listen for the other ranks with", errno, "tcp");
  auto* at = reinterpret_cast<sockaddr*>(&place.at);
  socklen_t length = place.length();
  const bool bound = bind_in(ports, listener.get(), at, length) == 0;
  if (!bound && errno == EADDRINUSE && ports.is_given()) return in_tcp(Errc::out_of_resources, ports.none_free_at(address), errno);
  if (!bound || listen(listener.get(), SOMAXCONN) != 0 || getsockname(listener.get(), at, &length) != 0)
    return in_tcp(Errc::invalid_argument, "cannot listen at " + address + ": " + std::strerror(errno), errno);
  return listener;
}

void tune(int socket) {
  const int yes = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  try_often(socket);
}

}  // namespace rondo::tcp

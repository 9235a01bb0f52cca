#include "places.hpp"

#include <sys/socket.h>

#include <array>

#include "deadline.hpp"
#include "strangers.hpp"
#include "support/ranks.hpp"

using namespace rondo;

namespace {

std::uint16_t free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 0;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

}  // namespace

JobKey key_of(unsigned char byte) {
  std::array<unsigned char, 32> bytes{};
  bytes.fill(byte);
  return JobKey(bytes);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

MeetingPlace fresh_place() { return {"127.0.0.1", free_port(), fresh_job(), key_of(7)}; }

std::string meet_at(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, double seconds, std::uint32_t fan_out) {
  auto bootstrap = make_network_bootstrap(rank, size, place, deadline_in(seconds), {}, {}, fan_out);
  return bootstrap ? exchange(**bootstrap, rank, size, seconds) : to_string(bootstrap.error());
}

#include "transports/tcp/calling.hpp"

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/descriptors.hpp"
#include "base/reachability.hpp"

namespace rondo::tcp {
namespace {

constexpr std::int64_t connect_patience_ns = std::int64_t{longest_silence_ms} * 1'000'000;
constexpr std::int64_t attempt_ns = 400'000'000;

/// Where the way to a peer depends on who asks, it is that of the own interface. An address of another family than the peer's, or one that has gone, is left
/// to the kernel.
void call_from(int socket, const Place& own) {
  const int yes = 1;
  Place from = own;
  from.at.sin6_port = 0;  // lies where sockaddr_in's does
  (void)setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  (void)bind(socket, from.address(), from.length());
}

}  // namespace

Error Calling::unreachable(int number) const {
  const std::string where = "rank " + std::to_string(peer_) + " can't be reached at " + text_of(place_) + ": ";
  return Error{number == ECONNREFUSED ? Errc::peer_failed : Errc::unsupported, where + std::strerror(number), number, "tcp"};
}

std::optional<Error> Calling::attempt(std::int64_t now_ns) {
  attempted_ns_ = now_ns;
  socket_ = LiveFd(Fd(::socket(place_.at.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!socket_) return no_descriptor_left("connect to rank " + std::to_string(peer_) + " with", errno, "tcp");
  tune(socket_.get());
  call_from(socket_.get(), own_);
  number_ = connect(socket_.get(), place_.address(), place_.length()) == 0 || errno == EINPROGRESS ? 0 : errno;
  if (number_ != 0) socket_.reset();
  return std::nullopt;
}

std::optional<Result<LiveFd>> Calling::look(std::int64_t now_ns) {
  if (attempted_ns_ == 0 || now_ns > attempted_ns_ + attempt_ns) {
    if (attempted_ns_ != 0 && now_ns > began_ns_ + connect_patience_ns) return unreachable(number_ != 0 ? number_ : ETIMEDOUT);
    if (auto error = attempt(now_ns)) return *error;
  }
  pollfd entry{socket_.get(), POLLOUT, 0};
  if (socket_ && poll(&entry, 1, 0) == 1) {
    socklen_t length = sizeof number_;
    (void)getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &number_, &length);
    if (number_ == 0) return std::move(socket_);
    socket_.reset();
  }
  if (number_ == ECONNREFUSED) return unreachable(number_);
  return std::nullopt;
}

}  // namespace rondo::tcp

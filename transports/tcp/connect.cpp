#include "transports/tcp/connect.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/descriptors.hpp"
#include "base/reachability.hpp"

namespace rondo::tcp {
namespace {

constexpr char place_magic[8] = {'r', 'o', 'n', 'd', 'o', 't', 'c', '1'};
constexpr std::size_t most_strangers = 64;
constexpr std::int64_t patience_ns = 1'800'000'000;
constexpr std::int64_t look_ns = 20'000'000;  // at strangers that take too long, and whether all is over

/// What a rank that calls says first.
struct Call {
  std::uint32_t rank;
  std::uint32_t reserved;
  Ticket ticket;  ///< of whom it calls
};

struct Stranger {
  Fd socket;
  std::int64_t deadline_ns = 0;
  Call call{};
  std::size_t came = 0;
};

Error in_tcp(Errc code, const std::string& detail, int number = 0) { return Error{code, detail, number, "tcp"}; }

socklen_t length_of(const Place& place) { return place.at.sin6_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

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

void tune(const Fd& socket) {
  const int yes = 1;
  (void)setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  try_often(socket.get());
}

class Connecting {
 public:
  Connecting(const Party& party, std::size_t ranks, const Fd& listener, const Ticket& own) : party_(party), listener_(listener), own_(own), sockets_(ranks) {}

  /// Begins to call a rank below this one. A connect() that doesn't block never waits for the peer.
  Result<void> call(std::uint32_t peer, const Place& place) {
    Fd socket(::socket(place.at.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return no_descriptor_left("connect to rank " + std::to_string(peer) + " with", errno, "tcp");
    tune(socket);
    const auto* at = reinterpret_cast<const sockaddr*>(&place.at);
    if (connect(socket.get(), at, length_of(place)) != 0 && errno != EINPROGRESS) return unreachable(peer, place, errno);
    calls_.push_back({peer, place, std::move(socket)});
    return {};
  }

  Result<std::vector<Fd>> run(std::int64_t deadline_ns, const std::function<bool()>& is_over) {
    while (!calls_.empty() || callers_missing() != 0) {
      if (now_ns() > deadline_ns) return in_tcp(Errc::deadline_exceeded, "no connection with rank " + missing());
      if (is_over && is_over()) return in_tcp(Errc::peer_failed, "a rank went before there was a connection with rank " + missing());
      if (auto turn = take_turn(deadline_ns); !turn) return turn.error();
    }
    return std::move(sockets_);
  }

 private:
  struct Calling {
    std::uint32_t peer;
    Place place;
    Fd socket;
  };

  static Error unreachable(std::uint32_t peer, const Place& place, int number) {
    return in_tcp(Errc::unsupported, "rank " + std::to_string(peer) + " can't be reached at " + text_of(place) + ": " + std::strerror(number), number);
  }

  std::size_t callers_missing() const {
    std::size_t missing = 0;
    for (std::uint32_t peer = party_.rank + 1; peer < sockets_.size(); ++peer) missing += party_.reaches(peer) && !sockets_[peer];
    return missing;
  }

  std::string missing() const {
    std::string names;
    for (std::uint32_t peer = 0; peer < sockets_.size(); ++peer)
      if (party_.reaches(peer) && !sockets_[peer]) names += (names.empty() ? "" : ", ") + std::to_string(peer);
    return names;
  }

  Result<void> take_turn(std::int64_t deadline_ns) {
    std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
    for (const Calling& calling : calls_) entries.push_back({calling.socket.get(), POLLOUT, 0});
    for (const Stranger& stranger : strangers_) entries.push_back({stranger.socket.get(), POLLIN, 0});
    const std::int64_t left_ns = std::min(deadline_ns - now_ns(), look_ns);
    const int ready = poll(entries.data(), entries.size(), static_cast<int>(std::max<std::int64_t>(0, left_ns) / 1'000'000 + 1));
    if (ready <= 0) entries.assign(entries.size(), {-1, 0, 0});
    if (auto called = finish_calls({entries.begin() + 1, entries.end()}); !called) return called;
    hear_strangers();
    return entries[0].revents != 0 ? take_in() : Result<void>{};
  }

  Result<void> finish_calls(const std::vector<pollfd>& entries) {
    std::vector<Calling> still;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      Calling& calling = calls_[i];
      if (entries[i].revents == 0) {
        still.push_back(std::move(calling));
        continue;
      }
      int number = 0;
      socklen_t length = sizeof number;
      (void)getsockopt(calling.socket.get(), SOL_SOCKET, SO_ERROR, &number, &length);
      const Call call{party_.rank, 0, calling.place.ticket};
      if (number == 0 && send(calling.socket.get(), &call, sizeof call, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof call)) number = errno;
      if (number != 0) return unreachable(calling.peer, calling.place, number);
      sockets_[calling.peer] = std::move(calling.socket);
    }
    calls_ = std::move(still);
    return {};
  }

  void hear_strangers() {
    const std::int64_t now = now_ns();
    std::erase_if(strangers_, [&](Stranger& stranger) {
      const ssize_t got = recv(stranger.socket.get(), reinterpret_cast<char*>(&stranger.call) + stranger.came, sizeof(Call) - stranger.came, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return now > stranger.deadline_ns;
      if (got <= 0) return true;
      stranger.came += static_cast<std::size_t>(got);
      if (stranger.came < sizeof(Call)) return false;
      const std::uint32_t peer = stranger.call.rank;
      const bool invited = sodium_memcmp(stranger.call.ticket.data(), own_.data(), own_.size()) == 0;
      if (invited && peer > party_.rank && peer < sockets_.size() && party_.reaches(peer) && !sockets_[peer]) sockets_[peer] = std::move(stranger.socket);
      return true;
    });
  }

  Result<void> take_in() {
    Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE)) return no_descriptor_left("accept another rank with", errno, "tcp");
    if (!socket) return {};
    tune(socket);
    if (strangers_.size() == most_strangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({std::move(socket), now_ns() + patience_ns, {}, 0});
    return {};
  }

  const Party& party_;
  const Fd& listener_;
  const Ticket& own_;
  std::vector<Fd> sockets_;
  std::vector<Calling> calls_;
  std::vector<Stranger> strangers_;
};

}  // namespace

Result<Fd> listen_at(const std::string& address, const PortRange& ports, Place& place) {
  std::memset(&place, 0, sizeof place);
  std::memcpy(place.magic, place_magic, sizeof place_magic);
  auto* short_form = reinterpret_cast<sockaddr_in*>(&place.at);
  if (inet_pton(AF_INET, address.c_str(), &short_form->sin_addr) == 1) short_form->sin_family = AF_INET;
  else if (inet_pton(AF_INET6, address.c_str(), &place.at.sin6_addr) == 1) place.at.sin6_family = AF_INET6;
  else return in_tcp(Errc::invalid_argument, "'" + address + "' is no numeric address");
  randombytes_buf(place.ticket.data(), place.ticket.size());
  Fd listener(socket(place.at.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return no_descriptor_left("listen for the other ranks with", errno, "tcp");
  auto* at = reinterpret_cast<sockaddr*>(&place.at);
  socklen_t length = length_of(place);
  const bool bound = bind_in(ports, listener.get(), at, length) == 0;
  if (!bound && errno == EADDRINUSE && ports.is_given())
    return in_tcp(Errc::out_of_resources, ports.none_free_at(address), errno);
  if (!bound || listen(listener.get(), SOMAXCONN) != 0 || getsockname(listener.get(), at, &length) != 0)
    return in_tcp(Errc::invalid_argument, "cannot listen at " + address + ": " + std::strerror(errno), errno);
  return listener;
}

Result<std::vector<Fd>> connect_all(const Party& party, const std::vector<Address>& all, const Fd& listener, const Ticket& own, std::int64_t deadline_ns,
                                    const std::function<bool()>& is_over) {
  Connecting connecting(party, all.size(), listener, own);
  for (std::uint32_t peer = 0; peer < all.size(); ++peer) {
    const auto place = place_of(peer, all[peer]);
    if (!place) return place.error();
    if (peer >= party.rank || !party.reaches(peer)) continue;
    if (auto called = connecting.call(peer, *place); !called) return called.error();
  }
  return connecting.run(deadline_ns, is_over);
}

}  // namespace rondo::tcp

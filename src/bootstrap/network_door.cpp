// The door of a job on several machines: a TCP port on one address. Who comes through proves that it holds the job's key.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/network.hpp"

namespace rondo {
namespace {

constexpr std::int64_t occupied_ns = 3'000'000'000;  // how long another meeting at this port may take to end
constexpr useconds_t listen_retry_us = 20'000;

class NetworkGreeting final : public Greeting {
 public:
  explicit NetworkGreeting(const MeetingPlace& place) : place_(place) {}

  Heard listen_to(int socket) override {
    if (knocked_ < sizeof knock_) {
      const Heard heard = take_bytes(socket, &knock_, sizeof knock_, knocked_);
      if (std::memcmp(&knock_, network_magic, std::min(knocked_, sizeof network_magic)) != 0) return Heard::nonsense;
      if (heard != Heard::all) return heard;
      return challenge(socket) ? Heard::nothing_new : Heard::nonsense;
    }
    const Heard heard = take_bytes(socket, proof_.data(), proof_.size(), proved_);
    if (heard != Heard::all) return heard;
    if (is_same(proof_, prove(place_.key, Side::other, place_.job, knock_, nonce_))) return Heard::all;
    complaint_ = " says that it is rank " + std::to_string(knock_.hello.rank) + ", but hasn't this job's key (RONDO_JOB_KEY_FILE) or is of another job";
    return Heard::nonsense;
  }

  bool has_begun() const override { return knocked_ == sizeof knock_; }
  const Hello& hello() const override { return knock_.hello; }
  std::string complaint() const override { return complaint_; }

 private:
  bool challenge(int socket) {
    nonce_ = fresh_nonce();
    const Challenge answer{nonce_, prove(place_.key, Side::first, place_.job, knock_, nonce_)};
    return send(socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof answer);
  }

  const MeetingPlace& place_;
  Knock knock_{};
  std::size_t knocked_ = 0;
  Nonce nonce_{};
  KeyProof proof_{};
  std::size_t proved_ = 0;
  std::string complaint_;
};

class NetworkDoor final : public Door {
 public:
  NetworkDoor(Fd listener, const MeetingPlace& place) : listener_(std::move(listener)), place_(place) {}
  int socket() const override { return listener_.get(); }

  PeerSocket open() override {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    auto* address = reinterpret_cast<sockaddr*>(&from);
    PeerSocket peer{Fd(accept4(listener_.get(), address, &length, SOCK_CLOEXEC)), {}};
    if (!peer.socket) return peer;
    crash_point("bootstrap: somebody taken in");
    tune(peer.socket.get());
    peer.whom = text_of(address, length);
    return peer;
  }

  std::unique_ptr<Greeting> greet() const override { return std::make_unique<NetworkGreeting>(place_); }

 private:
  Fd listener_;
  const MeetingPlace& place_;
};

/// Debian's /etc/hosts gives a machine's own name a loopback address, which no other machine reaches under that name.
bool is_own_name(const MeetingPlace& place, const addrinfo& entry) {
  const bool numeric = place.host.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos;
  return is_loopback(host_of(entry.ai_addr, entry.ai_addrlen)) && !numeric && place.host.find("localhost") == std::string::npos;
}

/// All addresses of a family, at the same port.
sockaddr_storage everywhere(const sockaddr* address, socklen_t length) {
  sockaddr_storage all{};
  std::memcpy(&all, address, length);
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(&all)->sin_addr.s_addr = htonl(INADDR_ANY);
  else reinterpret_cast<sockaddr_in6*>(&all)->sin6_addr = in6addr_any;
  return all;
}

Error no_place(const MeetingPlace& place, int number) {
  const std::string where = place.host + ":" + std::to_string(place.port);
  if (number == EADDRINUSE)
    return in_bootstrap(Errc::invalid_argument, where + " is taken by another program or job; each job needs a port of its own (MASTER_PORT)", number);
  if (number == EADDRNOTAVAIL)
    return in_bootstrap(Errc::invalid_argument, "'" + place.host + "' is no address of this machine, where rank 0 is; MASTER_ADDR names rank 0's", number);
  if (number == EMFILE || number == ENFILE) return no_descriptor_left("listen for the other ranks with", number, "bootstrap");
  return in_bootstrap(Errc::io, "cannot listen at " + where, number);
}

}  // namespace

Fd listen_at(const sockaddr* address, socklen_t length, const PortRange& ports) {
  Fd listener(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!listener) return listener;
  (void)setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind_in(ports, listener.get(), address, length) == 0 && listen(listener.get(), SOMAXCONN) == 0) return listener;
  const int number = errno;
  listener.reset();
  errno = number;
  return listener;
}

Result<std::unique_ptr<Door>> open_network_door(const MeetingPlace& place, std::int64_t deadline_ns, Fd opened) {
  if (opened) return std::unique_ptr<Door>(std::make_unique<NetworkDoor>(std::move(opened), place));
  int error = 0;
  const Addresses all = resolve(place, error);
  if (all == nullptr)
    return in_bootstrap(Errc::invalid_argument, "'" + place.host + "' has no address: " + gai_strerror(error) + "; MASTER_ADDR names rank 0's machine");
  const std::int64_t give_up_ns = std::min(deadline_ns, now_ns() + occupied_ns);
  for (;;) {
    int number = 0;
    for (const addrinfo* entry = all.get(); entry != nullptr; entry = entry->ai_next) {
      const bool own_name = is_own_name(place, *entry);
      const sockaddr_storage all_own = everywhere(entry->ai_addr, entry->ai_addrlen);
      Fd listener = listen_at(own_name ? reinterpret_cast<const sockaddr*>(&all_own) : entry->ai_addr, entry->ai_addrlen);
      if (listener && own_name) log_warn("'" + place.host + "' is a loopback address on its own machine: the ranks of the job are awaited on all interfaces");
      if (listener) {
        crash_point("bootstrap: the job's name taken");
        return std::unique_ptr<Door>(std::make_unique<NetworkDoor>(std::move(listener), place));
      }
      if (number != EADDRINUSE) number = errno;
    }
    if (number != EADDRINUSE || now_ns() > give_up_ns) return no_place(place, number);
    usleep(listen_retry_us);
  }
}

}  // namespace rondo

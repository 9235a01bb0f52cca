// The door of a job on one machine: an abstract UNIX socket, whose peers' users the kernel tells.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "bootstrap/local_door.hpp"

namespace rondo {
namespace {

/// All that a process of this user has to say is its hello.
class LocalGreeting final : public Greeting {
 public:
  Heard listen_to(int socket) override {
    const Heard heard = take_bytes(socket, &hello_, sizeof hello_, came_);
    if (std::memcmp(&hello_, hello_magic, std::min(came_, sizeof hello_magic)) != 0) return Heard::nonsense;
    return heard;
  }
  bool has_begun() const override { return false; }
  const Hello& hello() const override { return hello_; }

 private:
  Hello hello_{};
  std::size_t came_ = 0;
};

class LocalDoor final : public Door {
 public:
  explicit LocalDoor(Fd listener) : listener_(std::move(listener)) {}
  int socket() const override { return listener_.get(); }

  PeerSocket open() override {
    PeerSocket peer{Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), {}};
    if (!peer.socket) return peer;
    crash_point("bootstrap: somebody taken in");
    const auto whom = process_of_same_user(peer.socket.get());
    errno = 0;
    if (!whom) peer.socket.reset();
    else peer.whom = *whom;
    return peer;
  }

  std::unique_ptr<Greeting> greet() const override { return std::make_unique<LocalGreeting>(); }

 private:
  Fd listener_;
};

}  // namespace

std::optional<std::string> process_of_same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 || credentials.uid != getuid()) return std::nullopt;
  return credentials.pid > 0 ? "process " + std::to_string(credentials.pid) : "";
}

Result<std::unique_ptr<Door>> open_local_door(const std::string& job) {
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return no_descriptor_left("listen for the other ranks with", errno, "bootstrap");
  const SocketName name = socket_name(job);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0)
    return in_bootstrap(Errc::invalid_argument,
                        "job '" + job + "' is already being started on this machine; each job needs a name (run id, port) of its own", errno);
  crash_point("bootstrap: the job's name taken");
  if (listen(listener.get(), most_strangers) != 0) return in_bootstrap(Errc::io, "cannot listen", errno);
  return std::unique_ptr<Door>(std::make_unique<LocalDoor>(std::move(listener)));
}

}  // namespace rondo

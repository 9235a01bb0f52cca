#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/local_door.hpp"
#include "bootstrap/meeting.hpp"
#include "rondo/communicator.hpp"

namespace rondo {
namespace {

constexpr useconds_t connect_retry_us = 1000;

/// A socket that leads to whoever listens under `job`, once somebody does.
Result<Fd> reach(const std::string& job, std::int64_t deadline_ns, const StaysAway& stays_away) {
  const SocketName name = socket_name(job);
  for (;;) {
    if (stays_away && stays_away(0)) return has_gone(0);
    if (now_ns() > deadline_ns) return in_bootstrap(Errc::deadline_exceeded, "no sign of rank 0 of job '" + job + "'");
    // Non-blocking: where more ranks come at once than rank 0 has taken in, the deadline must still hold.
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return no_descriptor_left("connect to rank 0 with", errno, "bootstrap");
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0) return socket;
    usleep(connect_retry_us);
  }
}

}  // namespace

Result<PeerSocket> come_to_local(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns, const Result<void>& own_trouble,
                                 const StaysAway& stays_away) {
  auto socket = reach(job, own_trouble ? deadline_ns : std::min(deadline_ns, now_ns() + trouble_ns), stays_away);
  if (!socket) return own_trouble ? socket.error() : own_trouble.error();
  crash_point("bootstrap: connected");
  const auto process = process_of_same_user(socket->get());
  if (!process) return in_bootstrap(Errc::invalid_argument, "another user listens under the name of job '" + job + "'");
  PeerSocket first{std::move(*socket), *process};
  const Hello hello = hello_of(rank, size, own_trouble);
  const auto sent = send_bytes(first.socket.get(), &hello, sizeof hello, deadline_ns);
  crash_point("bootstrap: hello sent");
  if (auto heard = hear_verdict(first, 0, deadline_ns, own_trouble, sent); !heard) return heard.error();
  return first;
}

}  // namespace rondo

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
#include "bootstrap/meeting.hpp"
#include "rondo/communicator.hpp"

namespace rondo {
namespace {

constexpr std::int64_t trouble_ns = 50'000'000;  // how long a rank that can't take part tries to say so
constexpr useconds_t retry_us = 1000;

Address hello_of(std::uint32_t rank, std::uint32_t size, const Result<void>& own_trouble) {
  Hello hello{};
  std::memcpy(hello.magic, hello_magic, sizeof hello.magic);
  hello.version = version();
  hello.rank = rank;
  hello.size = size;
  if (!own_trouble) own_trouble.error().detail.copy(hello.complaint, sizeof hello.complaint - 1);
  Address bytes;
  bytes.bytes.resize(sizeof hello);
  std::memcpy(bytes.bytes.data(), &hello, sizeof hello);
  return bytes;
}

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
    usleep(retry_us);
  }
}

}  // namespace

pid_t process_of_same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 || credentials.uid != getuid()) return -1;
  return credentials.pid;
}

Result<std::vector<PeerSocket>> connect_to_first(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                                 const Result<void>& own_trouble, const StaysAway& stays_away) {
  auto socket = reach(job, own_trouble ? deadline_ns : std::min(deadline_ns, now_ns() + trouble_ns), stays_away);
  if (!socket) return own_trouble ? socket.error() : own_trouble.error();
  crash_point("bootstrap: connected to rank 0");
  const pid_t process = process_of_same_user(socket->get());
  if (process < 0) return in_bootstrap(Errc::invalid_argument, "another user listens under the name of job '" + job + "'");
  const auto sent = send_bytes(socket->get(), hello_of(rank, size, own_trouble).bytes, deadline_ns);
  crash_point("bootstrap: hello sent");
  if (!own_trouble) return own_trouble.error();
  // Rank 0 may have given up before it heard anything: then its reason is there to be read all the same.
  auto answer = receive_frame(socket->get(), deadline_ns);
  if (!answer) return lost(0, process, sent ? answer.error() : sent.error());
  if (auto verdict = unpack_verdict(*answer); !verdict) return verdict.error();
  crash_point("bootstrap: admitted");
  std::vector<PeerSocket> first(1);
  first[0] = {std::move(*socket), process};
  return first;
}

}  // namespace rondo

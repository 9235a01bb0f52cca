#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frame.hpp"

namespace rondo {
namespace {

struct Hello {
  std::uint32_t version;
  std::uint32_t rank;
  std::uint32_t size;
};
constexpr std::uint32_t protocol_version = 1;

Error in_bootstrap(Errc code, const std::string& detail, int number = 0) { return Error{code, detail, number, "bootstrap"}; }

/// The abstract name: nothing in any file system, gone with its last socket.
struct SocketName {
  sockaddr_un address{};
  socklen_t length = 0;
};

SocketName name_of(const std::string& job) {
  const std::string text = "rondo/" + std::to_string(getuid()) + "/" + job;
  SocketName name;
  name.address.sun_family = AF_UNIX;
  const std::size_t room = sizeof name.address.sun_path - 1;
  // A long name is shortened to its beginning and a hash of the whole.
  std::string fitted = text;
  if (text.size() > room) fitted = text.substr(0, room - 20) + "#" + std::to_string(std::hash<std::string>{}(text) % 1'000'000'000'000'000'000);
  std::memcpy(name.address.sun_path + 1, fitted.data(), fitted.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + fitted.size());
  return name;
}

bool same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 && credentials.uid == getuid();
}

Address pack(const void* data, std::size_t bytes) {
  Address address;
  address.bytes.resize(bytes);
  if (bytes != 0) std::memcpy(address.bytes.data(), data, bytes);
  return address;
}

/// A rank that dies is found by its socket; the error says which one it was.
Error lost(std::uint32_t rank, const Error& cause) {
  if (cause.code == Errc::deadline_exceeded) return in_bootstrap(Errc::deadline_exceeded, "rank " + std::to_string(rank) + " did not answer in time");
  if (cause.code != Errc::io) return cause;
  return in_bootstrap(Errc::peer_failed, "rank " + std::to_string(rank) + " went away during bootstrap", cause.native);
}

/// Status frames: empty bytes mean "go on", other bytes are an error's text.
class LocalBootstrap final : public Bootstrap {
 public:
  LocalBootstrap(std::uint32_t rank, std::vector<Fd> sockets, std::uint32_t size) : rank_(rank), size_(size), sockets_(std::move(sockets)) {}

  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override {
    return rank_ == 0 ? gather_and_spread(own, deadline_ns) : give_and_take(own, deadline_ns);
  }

 private:
  Result<Gathered> gather_and_spread(const Address& own, std::int64_t deadline_ns) {
    std::vector<Gathered> came(size_);  // one address each, so that what has come is closed on every way out
    for (std::uint32_t missing = size_ - 1; missing != 0; --missing) {
      auto rank = next_ready(came, deadline_ns);
      if (!rank) return fail_all(rank.error());
      auto frame = receive_frame(sockets_[*rank].get(), deadline_ns);
      if (!frame) return fail_all(lost(*rank, frame.error()));
      came[*rank].push_back(std::move(*frame));
    }
    const auto from_rank = [&](std::uint32_t rank) -> const Address& { return rank == 0 ? own : came[rank][0]; };
    for (std::uint32_t to = 1; to < size_; ++to) {
      // the first frame of an answer is its status
      Result<void> sent = send_frame(sockets_[to].get(), Address{}, deadline_ns);
      for (std::uint32_t from = 0; sent && from < size_; ++from) sent = send_frame(sockets_[to].get(), from_rank(from), deadline_ns);
      if (!sent) return fail_all(lost(to, sent.error()));
    }
    auto first = duplicate(own);
    if (!first) return first.error();
    Gathered all;
    all.push_back(std::move(*first));
    for (std::uint32_t rank = 1; rank < size_; ++rank) all.push_back(came[rank].take(0));
    return all;
  }

  Result<Gathered> give_and_take(const Address& own, std::int64_t deadline_ns) {
    const int socket = sockets_[0].get();
    if (auto sent = send_frame(socket, own, deadline_ns); !sent) return lost(0, sent.error());
    Gathered all;
    for (std::uint32_t from = 0; from < size_ + 1; ++from) {
      auto frame = receive_frame(socket, deadline_ns);
      if (!frame) return lost(0, frame.error());
      if (from != 0) {
        all.push_back(std::move(*frame));
      } else if (!frame->bytes.empty()) {
        const auto* text = reinterpret_cast<const char*>(frame->bytes.data());
        const bool late = text[0] == 'd';
        return in_bootstrap(late ? Errc::deadline_exceeded : Errc::peer_failed, std::string(text + 1, frame->bytes.size() - 1));
      }
    }
    return all;
  }

  /// The next rank whose frame has come and isn't taken yet. A hang-up counts: reading it tells.
  Result<std::uint32_t> next_ready(const std::vector<Gathered>& have, std::int64_t deadline_ns) {
    for (;;) {
      std::vector<pollfd> entries;
      std::vector<std::uint32_t> ranks;
      for (std::uint32_t rank = 1; rank < size_; ++rank)
        if (have[rank].empty()) {
          entries.push_back({sockets_[rank].get(), POLLIN, 0});
          ranks.push_back(rank);
        }
      const std::int64_t left = deadline_ns - now_ns();
      if (left <= 0) return in_bootstrap(Errc::deadline_exceeded, "rank " + std::to_string(ranks.front()) + " did not answer in time");
      const int ready = poll(entries.data(), entries.size(), static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000)));
      for (std::size_t i = 0; ready > 0 && i < entries.size(); ++i)
        if (entries[i].revents != 0) return ranks[i];
    }
  }

  /// Tells every rank that is still there why nothing comes, then gives up.
  Error fail_all(const Error& error) {
    const std::string text = (error.code == Errc::deadline_exceeded ? "d" : "p") + error.detail;
    for (std::uint32_t rank = 1; rank < size_; ++rank) (void)send_frame(sockets_[rank].get(), pack(text.data(), text.size()), now_ns() + 100'000'000);
    return error;
  }

  std::uint32_t rank_;
  std::uint32_t size_;
  std::vector<Fd> sockets_;  ///< rank 0: to every other rank, by rank; others: [0] leads to rank 0
};

std::string missing_ranks(const std::vector<Fd>& sockets) {
  std::string names;
  for (std::size_t rank = 1; rank < sockets.size(); ++rank)
    if (!sockets[rank]) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return names;
}

/// Takes one connection's hello; says what is wrong with it, or nothing.
void admit(Fd socket, std::vector<Fd>& sockets, std::int64_t deadline_ns) {
  if (!same_user(socket.get())) return;
  auto frame = receive_frame(socket.get(), std::min(deadline_ns, now_ns() + 2'000'000'000));
  Hello hello{};
  if (!frame || frame->bytes.size() != sizeof hello) return;
  std::memcpy(&hello, frame->bytes.data(), sizeof hello);
  std::string refusal;
  if (hello.version != protocol_version)
    refusal = "rank 0 speaks bootstrap version " + std::to_string(protocol_version) + ", rank " +
              std::to_string(hello.rank) + " version " + std::to_string(hello.version);
  else if (hello.size != sockets.size())
    refusal = "rank 0 expects " + std::to_string(sockets.size()) + " ranks, rank " + std::to_string(hello.rank) + " says " + std::to_string(hello.size);
  else if (hello.rank == 0 || hello.rank >= sockets.size() || sockets[hello.rank])
    refusal = "rank " + std::to_string(hello.rank) + " is there already or out of range";
  (void)send_frame(socket.get(), pack(refusal.data(), refusal.size()), deadline_ns);
  if (refusal.empty()) sockets[hello.rank] = std::move(socket);
}

Result<std::vector<Fd>> listen_for_all(std::uint32_t size, const std::string& job, std::int64_t deadline_ns) {
  std::vector<Fd> sockets(size);
  if (size == 1) return sockets;
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketName name = name_of(job);
  if (!listener) return in_bootstrap(Errc::out_of_resources, "rank 0 needs " + std::to_string(3 * size + 4) + " file descriptors (limit: ulimit -n)", errno);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0)
    return in_bootstrap(
        Errc::invalid_argument,
        "job '" + job + "' is already being started on this machine; each job needs a name (run id, port) of its own",
        errno);
  if (listen(listener.get(), 64) != 0) return in_bootstrap(Errc::io, "cannot listen", errno);
  while (!missing_ranks(sockets).empty()) {
    const std::int64_t left = deadline_ns - now_ns();
    if (left <= 0) return in_bootstrap(Errc::deadline_exceeded, "no sign of rank " + missing_ranks(sockets) + " of job '" + job + "'");
    pollfd entry{listener.get(), POLLIN, 0};
    if (poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000))) <= 0) continue;
    Fd socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket && (errno == EMFILE || errno == ENFILE))
      return in_bootstrap(Errc::out_of_resources, "rank 0 needs " + std::to_string(3 * size + 4) + " file descriptors (limit: ulimit -n)", errno);
    if (socket) admit(std::move(socket), sockets, deadline_ns);
  }
  return sockets;
}

Result<std::vector<Fd>> connect_to_first(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns) {
  const SocketName name = name_of(job);
  for (;;) {
    if (now_ns() > deadline_ns) return in_bootstrap(Errc::deadline_exceeded, "no sign of rank 0 of job '" + job + "'");
    Fd to_first(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!to_first) return in_bootstrap(Errc::out_of_resources, "a rank needs " + std::to_string(2 * size + 4) + " file descriptors (limit: ulimit -n)", errno);
    if (connect(to_first.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0) {
      usleep(1000);  // rank 0 isn't listening yet
      continue;
    }
    if (!same_user(to_first.get())) return in_bootstrap(Errc::invalid_argument, "another user listens under the name of job '" + job + "'");
    const Hello hello{protocol_version, rank, size};
    if (auto sent = send_frame(to_first.get(), pack(&hello, sizeof hello), deadline_ns); !sent) return lost(0, sent.error());
    auto answer = receive_frame(to_first.get(), deadline_ns);
    if (!answer) return lost(0, answer.error());
    if (!answer->bytes.empty())
      return in_bootstrap(Errc::invalid_argument, "rank 0 refused: " + std::string(reinterpret_cast<const char*>(answer->bytes.data()), answer->bytes.size()));
    std::vector<Fd> sockets;
    sockets.push_back(std::move(to_first));
    return sockets;
  }
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_local_bootstrap(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns) {
  auto sockets = rank == 0 ? listen_for_all(size, job, deadline_ns) : connect_to_first(rank, size, job, deadline_ns);
  if (!sockets) return sockets.error();
  return std::unique_ptr<Bootstrap>(std::make_unique<LocalBootstrap>(rank, std::move(*sockets), size));
}

}  // namespace rondo

#include "compare/rank_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/cores.hpp"

namespace compare {
namespace {

int watched_fd = -1;  // for the signal handler alone

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "compare rank: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

// SIGIO comes with every message; only a hang-up ends the process.
void on_socket_event(int) {
  const int saved = errno;
  pollfd state{watched_fd, POLLRDHUP, 0};
  if (poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) _exit(1);
  errno = saved;
}

void watch(int fd) {
  watched_fd = fd;
  struct sigaction action = {};
  action.sa_handler = on_socket_event;
  action.sa_flags = SA_RESTART;
  sigaction(SIGIO, &action, nullptr);
  if (fcntl(fd, F_SETOWN, getpid()) != 0 || fcntl(fd, F_SETFL, O_ASYNC) != 0) give_up("watch the coordinator");
}

}  // namespace

RankOptions parse_rank_options(int argc, char** argv) {
  RankOptions options;
  const auto number = [](const char* text) { return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)); };
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--free") {
      options.pin = false;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (flag == "--socket") {
      options.socket = value;
    } else if (flag == "--setting") {
      options.setting = value;
    } else if (flag == "--participant") {
      options.participant = number(value);
    } else if (flag == "--rank") {
      options.rank = number(value);
    } else if (flag == "--ranks") {
      options.ranks = number(value);
    } else if (flag == "--folder") {
      options.folder = value;
    } else if (flag == "--region") {
      options.region = static_cast<int>(number(value));
    } else {
      std::fprintf(stderr, "%s: unknown flag %s; started by tools/compare, not by hand\n", argv[0], flag.c_str());
      std::exit(2);
    }
  }
  return options;
}

void die_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) std::_Exit(1);  // the parent was gone before we asked
}

void pin_rank(std::uint32_t rank) {
  if (!bench_support::pin_to_core(rank)) give_up("sched_setaffinity");
}

RankLink::RankLink(const RankOptions& options, std::uint32_t rank, const std::string& version) {
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(options.socket.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, options.socket.data(), length);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&address), size) != 0)
    give_up("connect to the coordinator");
  watch(fd_);
  Hello hello;
  hello.participant = options.participant;
  hello.rank = rank;
  hello.pid = getpid();
  std::copy_n(version.data(), std::min(version.size(), hello.version.size() - 1), hello.version.begin());
  if (write(fd_, &hello, sizeof hello) != sizeof hello) give_up("say hello");
}

Command RankLink::next() {
  Command command;
  if (recv(fd_, &command, sizeof command, MSG_WAITALL) != sizeof command) std::_Exit(1);
  return command;
}

void RankLink::reply(const Reply& reply) {
  if (write(fd_, &reply, sizeof reply) != sizeof reply) std::_Exit(1);
}

}  // namespace compare

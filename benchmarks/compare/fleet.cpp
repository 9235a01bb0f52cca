#include "compare/fleet.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "compare/child.hpp"
#include "floor/region.hpp"

namespace compare {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto start_limit = std::chrono::seconds(30);
constexpr auto goodbye_limit = std::chrono::seconds(5);
constexpr int answer_limit_ms = 120'000;  // the slowest: 256 MiB over TCP, 8 ranks on 2 cores, takes seconds

[[noreturn]] void fail(const char* what) {
  std::perror((std::string("compare: ") + what).c_str());
  std::exit(1);
}

int listen_on(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(fd, 128) != 0)
    fail("socket");
  return fd;
}

bool same_user(int fd) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

std::string name_of_program(const Participant& participant) { return std::filesystem::path(participant.command[0]).filename().string(); }

// Not inherited by other children: fork() happens in this thread only, and CLOEXEC is lifted in the right child.
int make_region() {
  const int fd = memfd_create("compare-floor", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, sizeof(floor_bench::Region)) != 0) fail("memfd_create");
  return fd;
}

}  // namespace

Fleet::Fleet(std::vector<Participant> participants, std::vector<std::string>& notes) : notes_(notes) {
  socket_name_ =
      "rondo-compare-" + std::to_string(getpid()) + "-" + std::to_string(Clock::now().time_since_epoch().count());
  listener_ = listen_on(socket_name_);
  std::string pattern = (std::filesystem::temp_directory_path() / "rondo-compare-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail("temporary folder");
  folder_ = pattern;
  for (Participant& participant : participants) {
    Member member;
    member.sockets.assign(participant.ranks, -1);
    member.participant = std::move(participant);
    members_.push_back(std::move(member));
  }
  for (std::size_t i = 0; i < members_.size(); ++i) start(i);
  accept_all();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);  // ranks have met: nothing stays behind, whatever is killed later
}

Fleet::~Fleet() {
  const Command quit;
  for (const Member& member : members_) {
    for (const int fd : member.sockets) static_cast<void>(send(fd, &quit, sizeof quit, MSG_NOSIGNAL));
  }
  const auto limit = Clock::now() + goodbye_limit;
  for (Member& member : members_) {
    // Hanging up on ranks that are still finalizing would make their launcher complain.
    std::erase_if(member.children, [&](pid_t child) { return ends_before(child, limit); });
    stop(member);
  }
  close(listener_);
}

void Fleet::start(std::size_t index) {
  Member& member = members_[index];
  if (member.participant.library == "floor") member.region = make_region();
  if (member.participant.launcher) member.transcript = make_transcript();  // launchers frame a death with a page of their own
  if (member.participant.library == "gloo") std::filesystem::create_directory(folder_ + "/" + std::to_string(index));
  const std::uint32_t processes = member.participant.launcher ? 1 : member.participant.ranks;
  for (std::uint32_t rank = 0; rank < processes; ++rank) member.children.push_back(spawn(index, rank));
  member.alive = true;
}

pid_t Fleet::spawn(std::size_t index, std::uint32_t rank) {
  const Member& member = members_[index];
  std::vector<std::string> words = member.participant.command;
  const auto add = [&](const std::string& flag, const std::string& value) { words.insert(words.end(), {flag, value}); };
  add("--socket", socket_name_);
  add("--participant", std::to_string(index));
  add("--rank", std::to_string(rank));
  add("--ranks", std::to_string(member.participant.ranks));
  add("--region", std::to_string(std::max(0, member.region)));
  add("--folder", folder_ + "/" + std::to_string(index));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // survives exec: a launcher dies with us too
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // Ctrl-C reaches the coordinator alone, which then ends everyone
  if (member.transcript >= 0) {
    dup2(member.transcript, STDOUT_FILENO);
    dup2(member.transcript, STDERR_FILENO);
  }
  if (member.region >= 0) fcntl(member.region, F_SETFD, 0);  // inherited, by this child alone
  for (const auto& [name, value] : member.participant.environment) setenv(name.c_str(), value.c_str(), 1);
  execvp(argv[0], argv.data());
  _exit(127);
}

bool Fleet::complete() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) {
    return !member.alive || std::find(member.sockets.begin(), member.sockets.end(), -1) == member.sockets.end();
  });
}

void Fleet::accept_all() {
  const auto limit = Clock::now() + start_limit;
  while (!complete() && Clock::now() < limit) {
    pollfd state{listener_, POLLIN, 0};
    if (poll(&state, 1, 100) > 0) {
      accept_one();
      continue;
    }
    for (Member& member : members_) {
      for (const pid_t child : member.children) {
        siginfo_t info = {};
        if (!member.alive || waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != child) continue;
        give_up(member, "did not start" + how_ended(member));
        break;
      }
    }
  }
  for (Member& member : members_) {
    const bool missing = std::find(member.sockets.begin(), member.sockets.end(), -1) != member.sockets.end();
    if (member.alive && missing) give_up(member, "did not start within 30 s");
  }
}

void Fleet::accept_one() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  Hello hello;
  const bool read = same_user(fd) && recv(fd, &hello, sizeof hello, MSG_WAITALL) == sizeof hello;
  if (!read || hello.participant >= members_.size() || hello.rank >= members_[hello.participant].sockets.size()) {
    close(fd);
    return;
  }
  Member& member = members_[hello.participant];
  member.sockets[hello.rank] = fd;
  member.ranks.push_back(hello.pid);
  member.version.assign(hello.version.data(), strnlen(hello.version.data(), hello.version.size()));
}

std::optional<Answer> Fleet::ask(std::size_t index, const Command& command) {
  Member& member = members_[index];
  if (!member.alive) return std::nullopt;
  for (std::size_t rank = 0; rank < member.sockets.size(); ++rank) {
    if (send(member.sockets[rank], &command, sizeof command, MSG_NOSIGNAL) != sizeof command) {
      give_up(member, "rank " + std::to_string(rank) + " has gone away" + how_ended(member));
      return std::nullopt;
    }
  }
  Answer answer;
  for (std::size_t rank = 0; rank < member.sockets.size(); ++rank) {
    Reply reply;
    pollfd state{member.sockets[rank], POLLIN, 0};
    int ready = 0;
    do {
      ready = poll(&state, 1, answer_limit_ms);
    } while (ready < 0 && errno == EINTR);  // Ctrl-C waits for the end of the block
    if (ready <= 0 || recv(state.fd, &reply, sizeof reply, MSG_WAITALL) != sizeof reply) {
      const std::string who = "rank " + std::to_string(rank);
      give_up(member, ready <= 0 ? who + " did not answer for " + std::to_string(answer_limit_ms / 1000) + " s" : who + " has gone away" + how_ended(member));
      return std::nullopt;
    }
    answer.ns = std::max(answer.ns, reply.ns);
    answer.wrong += reply.wrong;
  }
  return answer;
}

std::vector<pid_t> Fleet::pids() const {
  std::vector<pid_t> all;
  for (const Member& member : members_) all.insert(all.end(), member.ranks.begin(), member.ranks.end());
  return all;
}

// A rank, or the launcher of all: what its system says of it, and the first that it said itself.
std::string Fleet::how_ended(Member& member) {
  const std::string end = reap_one(member.children);
  const std::string said = first_line(member.transcript);
  return (end.empty() ? "" : ": " + name_of_program(member.participant) + " " + end) + (said.empty() ? "" : " (" + said + ")");
}

void Fleet::give_up(Member& member, const std::string& why) {
  member.why_gone = why;
  notes_.push_back(member.participant.library + " (" + member.participant.setting + "): " + why + "; left out from here on");
  std::fprintf(stderr, "compare: %s\n", notes_.back().c_str());
  stop(member);
}

void Fleet::stop(Member& member) {
  member.alive = false;
  for (int& fd : member.sockets) {
    if (fd >= 0) close(fd);  // ranks of a launcher end on the hang-up
  }
  member.sockets.clear();
  for (const pid_t child : member.children) {
    kill(child, SIGTERM);
    if (ends_before(child, Clock::now() + std::chrono::milliseconds(500))) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  member.children.clear();
  for (int* fd : {&member.region, &member.transcript}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

}  // namespace compare

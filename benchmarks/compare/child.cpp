#include "compare/child.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>
#include <thread>

namespace compare {

using Clock = std::chrono::steady_clock;
constexpr auto look_every = std::chrono::milliseconds(10);

bool ends_before(pid_t child, Clock::time_point limit) {
  for (;;) {
    if (waitpid(child, nullptr, WNOHANG) != 0) return true;
    if (Clock::now() >= limit) return false;
    std::this_thread::sleep_for(look_every);
  }
}

std::string tell_status(int status) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status)) + ", " + strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::string reap_one(std::vector<pid_t>& children) {
  const auto limit = Clock::now() + std::chrono::milliseconds(500);
  do {
    for (const pid_t child : children) {
      int status = 0;
      if (waitpid(child, &status, WNOHANG) != child) continue;
      std::erase(children, child);
      return tell_status(status);
    }
    std::this_thread::sleep_for(look_every);
  } while (Clock::now() < limit);
  return "";
}

int make_transcript() { return memfd_create("compare-transcript", MFD_CLOEXEC); }

std::string first_line(int transcript) {
  std::array<char, 4096> start{};
  const ssize_t length = transcript < 0 ? 0 : pread(transcript, start.data(), start.size(), 0);
  std::istringstream text(std::string(start.data(), length < 0 ? 0 : static_cast<std::size_t>(length)));
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && std::string("=- ").find(line[0]) == std::string::npos) return line.substr(0, 160);
  }
  return "";
}

}  // namespace compare

#include "processes.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace rondo_torch {
namespace {

std::string own_space() {
  char space[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
  return std::string(space, length > 0 ? static_cast<std::size_t>(length) : 0);
}

}  // namespace

std::string Processes::own() { return own_space() + "/" + std::to_string(getpid()); }

Processes::Processes(const std::vector<std::string>& words) {
  const std::string space = own_space();
  for (const std::string& word : words) {
    const auto slash = word.rfind('/');
    const bool same_space = !space.empty() && slash != std::string::npos && word.substr(0, slash) == space;
    const int number = same_space ? std::atoi(word.c_str() + slash + 1) : 0;
    int descriptor = unknown;
    if (number > 0) {
      descriptor = static_cast<int>(syscall(SYS_pidfd_open, number, 0));
      if (descriptor < 0) descriptor = errno == ESRCH ? gone : unknown;
    }
    descriptors_.push_back(descriptor);
  }
}

Processes::~Processes() {
  for (const int descriptor : descriptors_)
    if (descriptor >= 0) ::close(descriptor);
}

bool Processes::ended(std::uint32_t rank) const {
  if (rank >= descriptors_.size() || descriptors_[rank] == unknown) return false;
  if (descriptors_[rank] == gone) return true;
  pollfd entry{descriptors_[rank], POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

}  // namespace rondo_torch

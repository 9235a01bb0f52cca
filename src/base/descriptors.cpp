#include "base/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>

namespace rondo {
namespace {

constexpr std::uint64_t a_ranks_own = 3;   // its segment, both ends of its lifeline
constexpr std::uint64_t given_by_each = 2; // a segment and a lifeline, from every rank, itself too
constexpr std::uint64_t the_watchers = 1;
constexpr std::uint64_t most_looked_at = 1u << 20;  // beyond these nobody has any open

rlimit limits() {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  return now;
}

/// The limit below which `more` numbers are free. Descriptors take the lowest free numbers, and some may be open above the limit.
std::uint64_t limit_with_room_for(std::uint64_t more) {
  std::uint64_t number = 0;
  for (; more != 0 && number < most_looked_at; ++number)
    if (fcntl(static_cast<int>(number), F_GETFD) < 0) --more;
  return number + more;
}

}  // namespace

std::uint64_t descriptors_of_creation(std::uint32_t ranks, std::uint32_t ranks_here) {
  const std::uint64_t peers = ranks - 1;
  const std::uint64_t sockets = ranks_here == ranks ? 0 : peers;
  return sockets + ranks_here * (a_ranks_own + given_by_each * ranks + peers) + the_watchers;
}

Result<void> check_descriptors(std::uint32_t ranks, std::uint32_t ranks_here) {
  const rlimit limit = limits();
  if (limit.rlim_cur == RLIM_INFINITY) return {};
  const std::uint64_t needed = limit_with_room_for(descriptors_of_creation(ranks, ranks_here));
  if (needed <= limit.rlim_cur) return {};
  std::string detail = "a communicator of " + std::to_string(ranks) + " ranks needs " + std::to_string(needed) +
                       " file descriptors in this process, the limit is " + std::to_string(limit.rlim_cur) + ": ulimit -n " + std::to_string(needed);
  if (limit.rlim_max < needed) detail += " (by root: the hard limit is " + std::to_string(limit.rlim_max) + ")";
  return Error{Errc::out_of_resources, detail, EMFILE, "descriptors"};
}

Error no_descriptor_left(std::string_view purpose, int number, std::string_view where) {
  std::string detail = "no file descriptor left to " + std::string(purpose);
  if (number == ENFILE) detail += ": the whole system's are in use (sysctl fs.file-max)";
  if (number == EMFILE) detail += ": all " + std::to_string(limits().rlim_cur) + " of this process are in use (ulimit -n)";
  return Error{Errc::out_of_resources, detail, number, std::string(where)};
}

}  // namespace rondo

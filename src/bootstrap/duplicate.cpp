#include <fcntl.h>

#include <cerrno>

#include "bootstrap/bootstrap.hpp"

namespace rondo {

Result<Address> duplicate(const Address& from) {
  Address copy;
  copy.bytes = from.bytes;
  for (const int fd : from.descriptors) {
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
      const int number = errno;
      for (const int opened : copy.descriptors) close(opened);
      return Error{
          Errc::out_of_resources,
          "a peer's address needs " + std::to_string(from.descriptors.size()) + " file descriptors (limit: ulimit -n)",
          number, "bootstrap"};
    }
    copy.descriptors.push_back(own);
  }
  return copy;
}

}  // namespace rondo

#include <fcntl.h>

#include <cerrno>

#include "base/descriptors.hpp"
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
      return no_descriptor_left("copy a rank's address to", number, "bootstrap");
    }
    copy.descriptors.push_back(own);
  }
  return copy;
}

}  // namespace rondo

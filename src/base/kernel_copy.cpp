#include "base/kernel_copy.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace rondo {

int copy_from_process(std::int64_t process, std::byte* to, std::uint64_t from, std::uint64_t bytes) {
  while (bytes != 0) {
    const iovec here{to, bytes};
    const iovec there{reinterpret_cast<void*>(from), bytes};
    const ssize_t copied = ::process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
    if (copied < 0) return errno;
    if (copied == 0) return EFAULT;
    to += copied;
    from += static_cast<std::uint64_t>(copied);
    bytes -= static_cast<std::uint64_t>(copied);
  }
  return 0;
}

}  // namespace rondo

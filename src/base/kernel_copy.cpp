#include "base/kernel_copy.hpp"

#include <sys/uio.h>

#include <cerrno>

namespace rondo {
namespace {

using Call = decltype(::process_vm_readv);

int copy(Call* call, std::int64_t process, std::byte* here, std::uint64_t there, std::uint64_t bytes) {
  while (bytes != 0) {
    const iovec own{here, bytes};
    const iovec other{reinterpret_cast<void*>(there), bytes};
    const ssize_t copied = call(static_cast<pid_t>(process), &own, 1, &other, 1, 0);
    if (copied < 0) return errno;
    if (copied == 0) return EFAULT;
    here += copied;
    there += static_cast<std::uint64_t>(copied);
    bytes -= static_cast<std::uint64_t>(copied);
  }
  return 0;
}

}  // namespace

int copy_from_process(std::int64_t process, std::byte* to, std::uint64_t from, std::uint64_t bytes) {
  return copy(::process_vm_readv, process, to, from, bytes);
}

int copy_to_process(std::int64_t process, std::uint64_t to, const std::byte* from, std::uint64_t bytes) {
  return copy(::process_vm_writev, process, const_cast<std::byte*>(from), to, bytes);  // an iovec is for both ways
}

}  // namespace rondo

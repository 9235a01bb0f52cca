#include "base/kernel_copy.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>

#include "base/process_state.hpp"

namespace rondo {
namespace {

using Call = decltype(::process_vm_readv);

int copy(Call* call, std::int64_t process, std::byte* here, std::uint64_t there, std::uint64_t bytes, std::uint64_t* copied) {
  for (std::uint64_t done = 0; done < bytes;) {
    const iovec own{here + done, bytes - done};
    const iovec other{reinterpret_cast<void*>(there + done), bytes - done};
    const ssize_t more = call(static_cast<pid_t>(process), &own, 1, &other, 1, 0);
    if (more <= 0) {
      if (copied != nullptr) *copied = done;
      return more < 0 ? errno : EFAULT;
    }
    done += static_cast<std::uint64_t>(more);
  }
  return 0;
}

}  // namespace

int copy_from_process(std::int64_t process, std::byte* to, std::uint64_t from, std::uint64_t bytes, std::uint64_t* copied) {
  return copy(::process_vm_readv, process, to, from, bytes, copied);
}

int copy_to_process(std::int64_t process, std::uint64_t to, const std::byte* from, std::uint64_t bytes, std::uint64_t* copied) {
  return copy(::process_vm_writev, process, const_cast<std::byte*>(from), to, bytes, copied);  // an iovec is for both ways
}

bool stopped_behind_copy(std::int64_t process, std::int64_t thread) { return stopped_behind_call(process, thread, SYS_process_vm_writev); }

}  // namespace rondo

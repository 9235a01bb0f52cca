// Memory of another process, copied by the kernel (process_vm_readv, process_vm_writev): how a rank reaches a peer's ordinary buffers
// (docs/design/0010-symmetric-memory.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

/// Copies `bytes` from address `from` of process `process`, which may be this one, to `to`. Returns 0, or why not, an errno: ESRCH (no such process any
/// more), EFAULT (there is no such memory), EPERM (it may not be read), ENOMEM, ENOSYS (no such call here); then `copied` is how many bytes went well.
int copy_from_process(std::int64_t process, std::byte* to, std::uint64_t from, std::uint64_t bytes, std::uint64_t* copied = nullptr);

/// The other way: copies `bytes` from `from` to address `to` of that process.
int copy_to_process(std::int64_t process, std::uint64_t to, const std::byte* from, std::uint64_t bytes, std::uint64_t* copied = nullptr);

/// Whether a thread of a process that is stopped has no copy_to_process() under way, and begins none before it goes on. False where that isn't known.
bool stopped_behind_copy(std::int64_t process, std::int64_t thread);

}  // namespace rondo

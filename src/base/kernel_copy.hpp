// Memory of another process, copied by the kernel (process_vm_readv, process_vm_writev): how a rank reaches a peer's ordinary buffers
// (docs/design/0010-symmetric-memory.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

/// Copies `bytes` from address `from` of process `process`, which may be this one, to `to`. Returns 0, or why not, an errno: ESRCH (no such process any
/// more), EFAULT (it has no such memory), EPERM (it may not be read), ENOMEM, ENOSYS (no such call here). Part of `to` may then be written.
int copy_from_process(std::int64_t process, std::byte* to, std::uint64_t from, std::uint64_t bytes);

/// The other way: copies `bytes` from `from` to address `to` of that process. Part of it may be written where not all can be.
int copy_to_process(std::int64_t process, std::uint64_t to, const std::byte* from, std::uint64_t bytes);

}  // namespace rondo

// The memory of a made-up GPU: pages that processes forked from this one share, at the same addresses. And who runs kernels on it: one process at a time, as
// on a real one, though without a change in between: a kernel that waits for another process's waits forever.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::test::made_up {

/// Null where it is full. What is given back serves this process again, for as many bytes.
std::byte* take_memory(std::uint64_t bytes);
void give_back(std::byte* memory);
bool is_memory(const void* address);

/// Until no other process's kernels run; then this one's may, side by side.
void enter_gpu();
void leave_gpu();

}  // namespace rondo::test::made_up

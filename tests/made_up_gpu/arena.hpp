// The memory of made-up GPUs: pages that processes forked from this one share, at the same addresses. And who runs kernels on each: one process at a time, as
// on a real one, though without a change in between: a kernel that waits for another process's on its GPU waits forever.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::test::made_up {

/// MADE_UP_GPUS in the environment, else 1.
int gpu_count();

/// Whether none reaches another's memory: MADE_UP_GPUS_APART is set.
bool gpus_are_apart();

/// Null where it is full. What is given back serves this process again, for as many bytes.
std::byte* take_memory(int gpu, std::uint64_t bytes);
void give_back(std::byte* memory);

/// Whose memory it is; −1: none's.
int gpu_of(const void* address);

/// Until no other process's kernels run there; then this one's may, side by side.
void enter_gpu(int gpu);
void leave_gpu(int gpu);

}  // namespace rondo::test::made_up

// Starts a call's blocks.
#pragma once

#include "device/job.hpp"
#include "rondo/result.hpp"
#include "rondo/types.hpp"

namespace rondo::device {

inline constexpr unsigned block_threads = 512;

/// Enqueues `job` on `stream` (a cudaStream_t of the current device). `reduces`: it combines elements of `type`; else it moves bytes alone.
/// Errors: unsupported and out_of_resources, with CUDA's words.
Result<void> launch(const Job& job, DataType type, bool reduces, void* stream);

/// How many blocks of such a call one multiprocessor of the current device runs at once.
Result<int> resident_blocks();

}  // namespace rondo::device

// Starts a call's blocks.
#pragma once

#include <span>

#include "device/job.hpp"
#include "device/list.hpp"
#include "device/messages.hpp"
#include "rondo/result.hpp"

namespace rondo::device {

inline constexpr unsigned most_threads = 256;  ///< of a block
inline constexpr unsigned blocks_at_once = 3;   ///< of so many threads, on one multiprocessor: what registers are given out for

/// Enqueues `job` on `stream` (a cudaStream_t of the current device). `list`: the tensors that are its buffers, most_segments at most, f32, f16 or bf16;
/// empty: it has one of each. Errors: unsupported and out_of_resources, with CUDA's words.
Result<void> launch(const Job& job, const Elements& elements, std::span<const Segment> list, void* stream);

/// Enqueues a rank's part of an exchange, `exchange.messages` of them. Errors as launch().
Result<void> launch_exchange(const Exchange& exchange, const Message* messages, void* stream);

/// Starts every kernel once, with nothing to do. CUDA waits for all that runs when it loads a kernel, or makes room for a larger stack: for peers' blocks,
/// too, which may be waiting for this very kernel. So that is done before there are any.
Result<void> load_kernels(void* stream);

/// Those of exchanges; load_kernels() does it.
Result<void> load_exchanges(void* stream);

/// How many blocks of so many threads one multiprocessor of the current device runs at once.
Result<int> resident_blocks(unsigned threads);

/// Likewise of exchanges; resident_blocks() counts them in.
Result<int> resident_exchange_blocks(unsigned threads);

}  // namespace rondo::device

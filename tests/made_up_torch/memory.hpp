// Memory of a made-up GPU for tensors. What is freed is kept for others as torch's allocator for CUDA keeps it: for what is taken on the same stream, at once,
// but where other streams were said to use it when these have gone on.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace made_up_torch {

c10::Allocator& memory();

/// `memory` isn't given to anybody else before `stream` has come past what is enqueued on it when the memory is freed.
void use_on_stream(const c10::DataPtr& memory, const c10::Stream& stream);

}  // namespace made_up_torch

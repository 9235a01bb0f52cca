// Memory of a made-up GPU for tensors, kept for others when it is freed, as torch's allocator for CUDA keeps it: at once for those of the stream that it was taken on, but later where
// other streams were said to use it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace made_up_torch {

c10::Allocator& memory();

/// `memory` isn't given to anybody else before `stream` has come past what is enqueued on it when the memory is freed.
void use_on_stream(const c10::DataPtr& memory, const c10::Stream& stream);

}  // namespace made_up_torch

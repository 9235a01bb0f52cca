// Streams of a made-up GPU as torch names them.
#pragma once

#include <c10/core/Stream.h>
#include <cuda_runtime_api.h>

namespace made_up_torch {

/// What it is to the made-up runtime.
cudaStream_t handle_of(const c10::Stream& stream);

/// This thread's, on its current GPU or another.
c10::Stream current_stream();
c10::Stream current_stream(c10::DeviceIndex gpu);

c10::DeviceIndex current_device();

/// Waits for the current stream.
void synchronize();

}  // namespace made_up_torch

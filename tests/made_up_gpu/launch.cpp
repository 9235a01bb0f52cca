// Kernels of a made-up GPU: a thread a block.
#include <thread>
#include <vector>

#include "cuda/gpu_ranks.hpp"
#include "device/cuda/launch.hpp"
#include "device/host_block.hpp"
#include "device/walk.hpp"
#include "kernels/cuda/element.hpp"
#include "made_up_gpu/arena.hpp"
#include "made_up_gpu/streams.hpp"

namespace rondo::device {
namespace {

void run_block(const Job& job, DataType type, std::uint32_t lane, std::uint32_t slice) {
  test::HostBlockState state(1);
  test::HostBlock block(state, 0);
  cuda::with_type(type, [&](auto element) { Walk<decltype(element), test::HostBlock>(block, job, lane, slice).run(); });
}

}  // namespace

Result<void> launch(const Job& job, DataType type, bool, void* stream) {
  test::made_up::Stream& on = test::made_up::stream_of(stream);
  const auto kernel = [job, type, gpu = on.gpu] {
    test::made_up::enter_gpu(gpu);
    std::vector<std::jthread> blocks;
    for (std::uint32_t slice = 0; slice < job.slices; ++slice)
      for (std::uint32_t lane = 0; lane < job.lane_count; ++lane) blocks.emplace_back([&job, type, lane, slice] { run_block(job, type, lane, slice); });
    blocks.clear();  // joins them
    test::made_up::leave_gpu(gpu);
  };
  on.enqueue({kernel, true});
  return {};
}

Result<void> load_kernels(void*) { return {}; }

Result<int> resident_blocks(unsigned) { return 4; }

}  // namespace rondo::device

namespace rondo::test {

void fill_gpu(cudaStream_t stream, std::uint64_t nanoseconds) {
  made_up::Stream& on = made_up::stream_of(stream);
  const auto kernel = [nanoseconds, gpu = on.gpu] {
    made_up::enter_gpu(gpu);
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
    made_up::leave_gpu(gpu);
  };
  on.enqueue({kernel, true});
}

}  // namespace rondo::test

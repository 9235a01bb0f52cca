// Kernels of a made-up GPU: a thread a block.
#include <functional>
#include <thread>
#include <vector>

#include "cuda/gpu_ranks.hpp"
#include "device/cuda/launch.hpp"
#include "device/host_block.hpp"
#include "device/host_walk.hpp"
#include "device/run_messages.hpp"
#include "made_up_gpu/arena.hpp"
#include "made_up_gpu/streams.hpp"

namespace rondo::device {
namespace {

void run_block(const Job& job, const Elements& elements, const std::vector<Segment>& list, std::uint32_t lane, std::uint32_t slice) {
  test::HostBlockState state(1);
  test::HostBlock block(state, 0);
  test::walk(block, job, elements, list, lane, slice);
}

void run_block_of(const Exchange& exchange, const std::vector<Message>& messages, std::uint32_t number) {
  test::HostBlockState state(1);
  test::HostBlock block(state, 0);
  Job job;
  run_messages(block, job, exchange, messages.data(), number);
}

/// In the order of the stream, when the GPU has no other process's kernels on it.
void run_blocks(void* stream, std::uint32_t count, std::function<void(std::uint32_t)> block) {
  test::made_up::Stream& on = test::made_up::stream_of(stream);
  const auto kernel = [count, block = std::move(block), gpu = on.gpu] {
    test::made_up::enter_gpu(gpu);
    std::vector<std::jthread> blocks;
    for (std::uint32_t number = 0; number < count; ++number) blocks.emplace_back([&block, number] { block(number); });
    blocks.clear();  // joins them
    test::made_up::leave_gpu(gpu);
  };
  on.enqueue({kernel, true});
}

}  // namespace

Result<void> launch(const Job& job, const Elements& elements, std::span<const Segment> list, void* stream) {
  const auto block = [job, elements, kept = std::vector<Segment>(list.begin(), list.end())](std::uint32_t number) {
    run_block(job, elements, kept, number % job.lane_count, number / job.lane_count);
  };
  run_blocks(stream, job.lane_count * job.slices, block);
  return {};
}

Result<void> launch_exchange(const Exchange& exchange, const Message* messages, void* stream) {
  const std::vector<Message> kept(messages, messages + exchange.messages);
  run_blocks(stream, exchange.blocks, [exchange, kept](std::uint32_t number) { run_block_of(exchange, kept, number); });
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

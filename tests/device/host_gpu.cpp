#include "device/host_gpu.hpp"

#include <algorithm>
#include <thread>

#include "device/host_block.hpp"
#include "device/walk.hpp"
#include "executor/integer_scale.hpp"
#include "kernels/cuda/element.hpp"

namespace rondo::test {
namespace {

void run_block(HostBlockState& state, const device::Job& job, DataType type, std::uint32_t lane, std::uint32_t slice, std::vector<std::jthread>& threads) {
  for (unsigned thread = 0; thread < state.threads; ++thread)
    threads.emplace_back([&state, &job, type, lane, slice, thread] {
      HostBlock block(state, thread);
      cuda::with_type(type, [&](auto element) { device::Walk<decltype(element), HostBlock>(block, job, lane, slice).run(); });
    });
}

}  // namespace

HostGpu::HostGpu(std::uint32_t ranks, std::uint32_t blocks, unsigned threads_per_block, std::uint64_t half_bytes)
    : ranks_(ranks), blocks_(blocks), threads_(threads_per_block), layout_{half_bytes}, areas_(ranks), hosts_(ranks) {
  for (auto& area : areas_) {
    area.resize(layout_.total_bytes() / sizeof(Line) + 1);
    places_.push_back(area.front().bytes);
  }
}

Result<void> HostGpu::run(const HostCall& call, std::vector<std::uint32_t> present) {
  if (present.empty())
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) present.push_back(rank);
  const Plan lowered = lower(call.plan);
  std::vector<device::Fitted> fitted;
  std::vector<device::Job> jobs(ranks_);
  fitted.reserve(ranks_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    device::FitRequest request;
    request.rank = rank;
    request.count = call.count;
    request.type = call.type;
    request.op = call.op;
    request.layout = layout_;
    request.blocks = blocks_;
    request.threads = threads_;
    request.piece_bytes = piece_bytes;
    request.direct = true;
    auto one = fit(lowered, request);
    if (!one) return one.error();
    fitted.push_back(std::move(*one));
    const Executable& exec = fitted.back().executable;
    device::Group group{rank, ranks_, layout_, {}, &hosts_[rank], timeout_ns, true};
    std::copy(places_.begin(), places_.end(), group.areas);
    jobs[rank] = job_of(fitted.back(), group, call.op);
    jobs[rank].steps = exec.steps.data();
    jobs[rank].operands = exec.operands.data();
    jobs[rank].digest = call.digests.empty() ? 7 : call.digests[rank];
    jobs[rank].scale = call.scales.empty() ? 1 : call.scales[rank];
    jobs[rank].integer_scale = integer_scale(jobs[rank].scale);
    jobs[rank].input = static_cast<const std::byte*>(call.inputs[rank]);
    jobs[rank].output = static_cast<std::byte*>(call.outputs[rank]);
  }
  std::vector<std::unique_ptr<HostBlockState>> states;
  std::vector<std::jthread> threads;
  for (const std::uint32_t rank : present)
    for (std::uint32_t slice = 0; slice < jobs[rank].slices; ++slice)
      for (std::uint32_t lane = 0; lane < jobs[rank].lane_count; ++lane) {
        states.push_back(std::make_unique<HostBlockState>(jobs[rank].threads));
        run_block(*states.back(), jobs[rank], call.type, lane, slice, threads);
      }
  threads.clear();  // joins them
  return {};
}

}  // namespace rondo::test

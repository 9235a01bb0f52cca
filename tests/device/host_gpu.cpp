#include "device/host_gpu.hpp"

#include <algorithm>
#include <thread>

#include "device/host_block.hpp"
#include "device/host_walk.hpp"
#include "device/rounds.hpp"
#include "executor/integer_scale.hpp"

namespace rondo::test {
namespace {

void run_block(HostBlockState& state, const HostJob& call, std::uint32_t lane, std::uint32_t slice, std::vector<std::jthread>& threads) {
  for (unsigned thread = 0; thread < state.threads; ++thread)
    threads.emplace_back([&state, &call, lane, slice, thread] {
      HostBlock block(state, thread);
      walk(block, call.job, call.elements, call.list, lane, slice);
    });
}

/// Blocks that run beside one another; the end of this waits for theirs.
class Blocks {
 public:
  void start(const HostJob& call) {
    for (std::uint32_t slice = 0; slice < call.job.slices; ++slice)
      for (std::uint32_t lane = 0; lane < call.job.lane_count; ++lane) {
        states_.push_back(std::make_unique<HostBlockState>(call.job.threads));
        run_block(*states_.back(), call, lane, slice, threads_);
      }
  }

 private:
  std::vector<std::unique_ptr<HostBlockState>> states_;
  std::vector<std::jthread> threads_;  // joined first
};

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
  std::vector<HostJob> jobs(ranks_);
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
    request.direct = call.lists.empty();
    request.listed = !call.lists.empty();
    auto one = fit(lowered, request);
    if (!one) return one.error();
    fitted.push_back(std::move(*one));
    const Executable& exec = fitted.back().executable;
    device::Group group{rank, ranks_, layout_, {}, &hosts_[rank], timeout_ns, true, false, {}};
    std::copy(places_.begin(), places_.end(), group.areas);
    jobs[rank].elements = {call.type, call.plan.header.wire, true};
    if (!call.lists.empty()) jobs[rank].list = call.lists[rank].segments;
    device::Job& job = jobs[rank].job;
    job = job_of(fitted.back(), group, call.op);
    job.steps = exec.steps.data();
    job.operands = exec.operands.data();
    job.digest = call.digests.empty() ? 7 : call.digests[rank];
    job.scale = call.scales.empty() ? 1 : call.scales[rank];
    job.integer_scale = integer_scale(job.scale);
    if (!call.lists.empty()) continue;
    job.input = static_cast<const std::byte*>(call.inputs[rank]);
    job.output = static_cast<std::byte*>(call.outputs[rank]);
  }
  if (by_turns) return run_rounds(fitted, jobs);
  Blocks blocks;
  for (const std::uint32_t rank : present) blocks.start(jobs[rank]);
  return {};
}

Result<void> HostGpu::run_rounds(const std::vector<device::Fitted>& fitted, std::vector<HostJob>& jobs) {
  std::vector<device::Rounds> of;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    auto one = find_rounds(fitted, rank);
    if (!one) return one.error();
    of.push_back(std::move(*one));
  }
  rounds = of.front().count();
  for (std::uint32_t round = 0; round < rounds; ++round)
    for (std::uint32_t k = 0; k < ranks_; ++k) {
      const std::uint32_t rank = round % 2 == 0 ? k : ranks_ - 1 - k;
      if (!of[rank].runs(round)) continue;
      jobs[rank].job.parts = of[rank].parts.data() + std::size_t{round} * of[rank].lanes;
      jobs[rank].job.last_part = round == of[rank].last;
      Blocks().start(jobs[rank]);
    }
  return {};
}

}  // namespace rondo::test

#include "communicator/cuda/device_plans.hpp"

#include <cstring>

namespace rondo {
namespace {

constexpr std::uint64_t array_alignment = 256;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + array_alignment - 1) / array_alignment * array_alignment; }

template <class T>
std::uint64_t bytes_of(const std::vector<T>& array) {
  return array.size() * sizeof(T);
}

}  // namespace

Result<Plan> DevicePlans::plan(const PlanKey& key, CallBuffers buffers) const {
  if (const auto found = imported_.find(key.collective); found != imported_.end()) {
    if (!key.wire) return found->second.plan;
    return Error{Errc::unsupported, "a wire type, where a plan was brought along: nobody has shown that it may round", 0, "CUDA"};
  }
  Request request{key.collective, source_.group.ranks, key.count, key.type, key.op, key.root};
  request.symmetric = key.symmetric;
  request.wire = key.wire;
  request.in_place_too = key.in_place;
  PlanningOptions options = source_.options;
  if (buffers == CallBuffers::listed) options.limits.inline_bytes = 0;
  return plan_call(source_.topology, source_.cost, options, request);
}

Result<const DevicePlan*> DevicePlans::find(const PlanKey& key, CallBuffers buffers, cudaStream_t stream) {
  if (last_ != nullptr && key == last_key_ && buffers == last_buffers_) return last_;
  auto& place = prepared_[static_cast<std::size_t>(buffers)][key];
  if (place == nullptr) {
    auto made = prepare(key, buffers);
    if (!made) return made.error();
    if (auto uploaded = upload(**made, stream); !uploaded) return uploaded.error();
    place = std::move(*made);
  }
  last_key_ = key;
  last_buffers_ = buffers;
  last_ = place.get();
  return last_;
}

Result<std::unique_ptr<DevicePlan>> DevicePlans::prepare(const PlanKey& key, CallBuffers buffers) const {
  const auto planned = plan(key, buffers);
  if (!planned) return planned.error();
  const auto imported = imported_.find(key.collective);
  const Plan ready = imported != imported_.end() ? *planned : lower(*planned);
  device::FitRequest request;
  request.count = key.count;
  request.type = key.type;
  request.op = key.op;
  request.layout = source_.group.layout;
  request.blocks = source_.blocks;
  request.threads = source_.threads;
  request.piece_bytes = source_.piece_bytes;
  request.slice_bytes = source_.slice_bytes;
  request.plan_hash = imported != imported_.end() ? imported->second.hash : header_hash(planned->header);
  request.direct = key.symmetric;
  request.listed = buffers == CallBuffers::listed;
  const std::uint32_t rank = source_.group.rank;
  auto made = std::make_unique<DevicePlan>();
  // Of every rank, where their rounds depend on one another.
  const std::uint32_t first = source_.by_turns ? 0 : rank, behind = source_.by_turns ? source_.group.ranks : rank + 1;
  std::vector<device::Fitted> all;
  for (request.rank = first; request.rank < behind; ++request.rank) {
    auto fitted = device::fit(ready, request);
    if (!fitted) return fitted.error();
    all.push_back(std::move(*fitted));
  }
  if (source_.by_turns) {
    auto rounds = device::find_rounds(all, rank);
    if (!rounds) return rounds.error();
    made->rounds = std::move(*rounds);
  }
  made->fitted = std::move(all[rank - first]);
  made->rule = pointer_rule(key, planned->header, rank, source_.group.ranks);
  made->identity = CallIdentity{key.collective, key.type, key.op, key.root, key.count, request.plan_hash, key.symmetric, key.in_place, key.wire};
  made->elements.type = key.type;
  made->elements.wire = planned->header.wire;
  for (const ExecStep& step : made->fitted.executable.steps) made->elements.combines |= step.reduces;
  return made;
}

Result<std::byte*> DevicePlans::room_for(DevicePlan& plan, std::uint64_t bytes) {
  if (std::byte* part = arena_.part(bytes); part != nullptr) return part;
  auto memory = take_device(bytes);
  if (!memory) return memory.error();
  plan.own_arrays = std::move(*memory);
  return static_cast<std::byte*>(plan.own_arrays.get());
}

/// A stream that captures a graph elsewhere in this thread doesn't mind.
Result<void> DevicePlans::upload(DevicePlan& plan, cudaStream_t stream) {
  const Executable& exec = plan.fitted.executable;
  const std::uint64_t operands_at = aligned(bytes_of(exec.steps));
  const std::uint64_t parts_at = operands_at + aligned(bytes_of(exec.operands));
  std::vector<std::byte> image(parts_at + aligned(bytes_of(plan.rounds.parts)) + array_alignment);
  std::memcpy(image.data(), exec.steps.data(), bytes_of(exec.steps));
  std::memcpy(image.data() + operands_at, exec.operands.data(), bytes_of(exec.operands));
  if (!plan.rounds.parts.empty()) std::memcpy(image.data() + parts_at, plan.rounds.parts.data(), bytes_of(plan.rounds.parts));
  auto mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  const auto room = room_for(plan, image.size());
  Result<void> copied;
  if (room) {
    copied = cuda_result(cudaMemcpyAsync(*room, image.data(), image.size(), cudaMemcpyHostToDevice, stream), "copying a plan to the GPU");
    if (copied) copied = cuda_result(cudaStreamSynchronize(stream), "copying a plan to the GPU");
  }
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  if (!room) return room.error();
  if (!copied) return copied;
  plan.job = device::job_of(plan.fitted, source_.group, plan.identity.op);
  plan.job.steps = reinterpret_cast<const ExecStep*>(*room);
  plan.job.operands = reinterpret_cast<const ExecOperand*>(*room + operands_at);
  plan.parts = reinterpret_cast<const device::LanePart*>(*room + parts_at);
  plan.job.digest = plan.identity.digest();
  return {};
}

void DevicePlans::use(Plan plan, std::uint64_t hash) {
  const Collective collective = plan.header.collective;
  imported_.insert_or_assign(collective, Imported{std::move(plan), hash});
  for (Prepared& all : prepared_) {
    for (auto& [key, prepared] : all)
      if (prepared != nullptr) replaced_.push_back(std::move(prepared));
    all.clear();
  }
  last_ = nullptr;
}

}  // namespace rondo

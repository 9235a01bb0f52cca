#include "rondo/cuda.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "communicator/adopt.hpp"
#include "communicator/check.hpp"
#include "communicator/cuda/impl.hpp"
#include "device/cuda/launch.hpp"
#include "device/shared.hpp"
#include "executor/integer_scale.hpp"

namespace rondo {
namespace {

constexpr std::chrono::seconds patience{1};   ///< with ranks on the same GPU that haven't come as far
constexpr std::chrono::seconds farewell{10};  ///< how long destroying one waits for what is under way, and for the peers

std::uint64_t seen(const std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

PlanningOptions planning_of(const CudaParts& parts) {
  PlanningOptions options;
  options.algorithm = parts.options.algorithm;
  options.limits.staging_bytes = parts.group.layout.half_bytes / parts.blocks;
  options.limits.shares_out = false;
  options.limits.inline_bytes = std::min<std::uint32_t>(device::inline_lines * inline_payload, device::inline_room / (parts.group.ranks + 1) / 16 * 16);
  // Such plans wait in the middle of a step; and a bus may not carry a cell as one.
  if (parts.by_turns || parts.host_areas) options.limits.inline_bytes = 0;
  return options;
}

/// "call 7", "message 7 to rank 1": counted for those two and that way.
std::string call_of(const device::Report& report) {
  const std::string number = std::to_string(report.call);
  if (report.message == device::Report::none) return "call " + number;
  return "message " + number + (report.message == device::Report::sent ? " to rank " : " from rank ") + std::to_string(report.rank);
}

std::string differs_in(const device::Report& report) {
  if (report.message == device::Report::none) return " is in another call: other collective, count, type, operation, root or plan";
  return " has another message there: other count or type, or one is of an all_to_all_v";
}

DevicePlanSource source_of(const CudaParts& parts) {
  return {parts.topology, parts.cost, planning_of(parts), parts.group, parts.blocks, parts.threads, parts.options.piece_bytes, 0, parts.by_turns};
}

}  // namespace

Error captured_by_turns() {
  return Error{Errc::unsupported, "ranks that share a GPU as processes need the host in the course of a call: it can't be captured into a graph", 0, "CUDA"};
}

CudaCommunicator::Impl::Impl(CudaParts parts)
    : parts_(std::move(parts)),
      plans_(source_of(parts_), std::move(parts_.plans)),
      messages_(source_of(parts_), parts_.pairs, parts_.reads_peers, std::move(parts_.senders), std::move(parts_.receivers)) {}

Result<void> CudaCommunicator::Impl::start_threads() {
  if (parts_.one_process) return {};
  if (!parts_.by_turns) {
    auto watch = PeerWatch::make(*parts_.host, [this] { raise_abort(); });
    if (!watch) return watch.error();
    watch_ = std::move(*watch);
    return {};
  }
  const OnDevice on(parts_.device);
  auto turns = Turns::make(*parts_.host, words(), parts_.device);
  if (!turns) return turns.error();
  turns_ = std::move(*turns);
  return {};
}

/// Whether they do within a while.
bool CudaCommunicator::Impl::calls_end() const {
  const auto until = std::chrono::steady_clock::now() + farewell;
  if (turns_) return turns_->end_before(until);
  if (!called_) return true;
  while (std::chrono::steady_clock::now() < until) {
    if (cudaEventQuery(parts_.last_call.get()) != cudaErrorNotReady) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return false;
}

CudaCommunicator::Impl::~Impl() {
  const OnDevice on(parts_.device);
  if (!calls_end()) {
    abort();
    (void)cudaEventSynchronize(parts_.last_call.get());
  }
  turns_.reset();
  watch_.reset();
  // Peers' blocks look into this rank's memory until their calls end. Where nobody can know that they have, it stays.
  (void)parts_.host->set_timeout(farewell);
  if (parts_.host->barrier()) return;
  (void)parts_.transport.release();
  (void)parts_.host_areas.release();
  (void)parts_.enqueued.release();
}

PlanKey CudaCommunicator::Impl::key_of(const Call& call) const {
  PlanKey key{call.count, is_rooted(call.collective) ? call.root : 0, call.collective, call.type, is_reduction(call.collective) ? call.op : ReduceOp::sum,
              parts_.reads_peers, false, std::nullopt};
  const bool may_be_in_place = call.collective == Collective::all_reduce || call.collective == Collective::all_to_all;
  key.in_place = may_be_in_place && call.input == call.output && call.input != nullptr;
  return key;
}

Result<void> CudaCommunicator::Impl::wrong_memory(const void* memory, const char* name) const {
  cudaPointerAttributes attributes{};
  if (const cudaError_t status = cudaPointerGetAttributes(&attributes, memory); status != cudaSuccess)
    return cuda_result(status, std::string("asking where ") + name + " lies");
  if (attributes.type == cudaMemoryTypeManaged) return {};
  if (attributes.type != cudaMemoryTypeDevice)
    return wrong_call(std::string(name) + " is not GPU memory; accepted: memory of GPU " + std::to_string(parts_.device));
  if (attributes.device != parts_.device)
    return wrong_call(std::string(name) + " is memory of GPU " + std::to_string(attributes.device) + "; accepted: of GPU " + std::to_string(parts_.device));
  return {};
}

Result<void> CudaCommunicator::Impl::run(const Call& call, cudaStream_t stream) {
  if (auto fine = check(); !fine) return fine;
  if (has_lists(call))
    return Error{Errc::unsupported, "blocks that lie apart, on a GPU; accepted: one buffer (input, output)", 0, "call"};
  const PlanKey key = key_of(call);
  if (auto error = wrong_key(key, parts_.group.ranks)) return *error;
  if (auto error = wrong_scale(key.op, key.type, call.scale)) return *error;
  const OnDevice on(parts_.device);
  if (auto current = on.result(); !current) return current;
  const auto found = plans_.find(key, CallBuffers::single, parts_.own_stream.get());
  if (!found) return found.error();
  const DevicePlan& plan = **found;
  if (!plan.rule.accepts(call.input, call.output)) return wrong_pointers(plan.rule, plan.identity, call.input, call.output);
  if (!plan.rule.empty && plan.rule.reads)
    if (auto place = wrong_memory(call.input, "input"); !place) return place;
  if (!plan.rule.empty && plan.rule.writes && call.output != call.input)
    if (auto place = wrong_memory(call.output, "output"); !place) return place;
  DeviceCall started = device_call(plan, call.scale);
  started.job.input = static_cast<const std::byte*>(call.input);
  started.job.output = static_cast<std::byte*>(call.output);
  return enqueue(started, stream);
}

/// But for its buffers.
DeviceCall CudaCommunicator::Impl::device_call(const DevicePlan& plan, double scale) const {
  DeviceCall call{plan.job, &plan, {}};
  call.job.group.timeout_ns = parts_.group.timeout_ns;
  call.job.scale = scale;
  call.job.integer_scale = integer_scale(scale);
  return call;
}

Result<void> CudaCommunicator::Impl::set_timeout(std::chrono::nanoseconds timeout) {
  if (auto error = wrong_timeout(timeout, parts_.group.rank)) return *error;
  parts_.group.timeout_ns = static_cast<std::uint64_t>(timeout.count());
  return {};
}

Result<bool> CudaCommunicator::Impl::captures(cudaStream_t stream) const {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (auto asked = cuda_result(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is captured"); !asked) return asked.error();
  return capture != cudaStreamCaptureStatusNone;
}

/// Until the ranks beside this one have enqueued the call before. A call that waits for its rank's call before it must not stand in CUDA's queues ahead of
/// the call that a peer's blocks wait for: the GPU may come to it first, and go no further.
void CudaCommunicator::Impl::keep_step() const {
  const std::uint64_t before = parts_.enqueued->load(std::memory_order_relaxed);
  const auto until = std::chrono::steady_clock::now() + patience;
  for (const auto* other : parts_.beside)
    while (other->load(std::memory_order_acquire) < before) {
      if (std::chrono::steady_clock::now() > until || seen(words().report.outcome) != 0) return;
      std::this_thread::yield();
    }
}

/// On whatever stream that was. In a capture the graph's own order has to do.
Result<void> CudaCommunicator::Impl::follow_last_call(cudaStream_t stream) const {
  if (!called_ || stream == last_stream_) return {};
  return cuda_result(cudaStreamWaitEvent(stream, parts_.last_call.get(), 0), "waiting for the call before");
}

Result<void> CudaCommunicator::Impl::mark_last_call(cudaStream_t stream) {
  if (auto recorded = cuda_result(cudaEventRecord(parts_.last_call.get(), stream), "marking the call's end"); !recorded) return recorded;
  last_stream_ = stream;
  called_ = true;
  return {};
}

Result<void> CudaCommunicator::Impl::enqueue(const DeviceCall& call, cudaStream_t stream) {
  const auto captured = captures(stream);
  if (!captured) return captured.error();
  if (turns_) return *captured ? captured_by_turns() : turns_->enqueue(call, stream);
  const device::Elements& elements = call.plan->elements;
  if (*captured) return device::launch(call.job, elements, call.list, stream);
  if (auto waits = follow_last_call(stream); !waits) return waits;
  keep_step();
  if (auto started = device::launch(call.job, elements, call.list, stream); !started) return started;
  parts_.enqueued->fetch_add(1, std::memory_order_release);  // pairs with the peers' keep_step()
  return mark_last_call(stream);
}

Result<void> CudaCommunicator::Impl::check() const {
  if (watch_)
    if (auto met = watch_->failure()) return *met;
  const device::Report& report = words().report;
  const auto outcome = static_cast<device::Outcome>(seen(report.outcome));
  if (outcome == device::Outcome::running) {
    if (turns_)
      if (auto met = turns_->failure()) return *met;
    return {};
  }
  const std::string peer = "rank " + std::to_string(report.rank);
  const std::string place = " (" + call_of(report) + " of rank " + std::to_string(parts_.group.rank) + ", lane " +
                            std::to_string(report.source_step >> 16) + ", step " + std::to_string(report.source_step & 0xffff) + ", piece " +
                            std::to_string(report.piece) + ")";
  switch (outcome) {
    case device::Outcome::mismatch: return Error{Errc::mismatch, peer + differs_in(report) + place, 0, "GPU"};
    case device::Outcome::peer_failed: return Error{Errc::peer_failed, peer + " has failed" + place, 0, "GPU"};
    case device::Outcome::deadline_exceeded: return Error{Errc::deadline_exceeded, peer + " was waited for in vain" + place, 0, "GPU"};
    default: return Error{Errc::aborted, "abort() was called" + place, 0, "GPU"};
  }
}

Result<void> CudaCommunicator::Impl::use_plan(const Plan& plan, bool unverified) {
  const Collective collective = plan.header.collective;
  if (collective == Collective::send_recv || collective == Collective::all_to_all_v)
    return Error{Errc::unsupported, "a plan of " + std::string(to_string(collective)) + ": messages between GPUs run the planner's own", 0, "CUDA"};
  if (auto error = wrong_ranks(plan, parts_.group.ranks)) return *error;
  if (auto form = check_form(plan, unverified ? Form::runnable : Form::whole); !form) return form;
  if (!unverified)
    if (auto proved = prove(plan, ""); !proved) return proved.error();
  Plan ready = lower(insert_shadows(plan));
  if (!unverified)
    if (auto proved = prove(ready, ", lowered to mapped links,"); !proved) return proved.error();
  plans_.use(std::move(ready), std::hash<std::string>{}(write_plan(plan)));
  return {};
}

Result<Plan> CudaCommunicator::Impl::plan_for(const Call& call) const {
  const PlanKey key = key_of(call);
  if (auto error = wrong_key(key, parts_.group.ranks)) return *error;
  return plans_.plan(key);
}

/// This rank's blocks stop waiting.
void CudaCommunicator::Impl::raise_abort() const {
  std::atomic_ref<std::uint64_t>(words().abort).store(1, std::memory_order_release);  // pairs with what blocks look at while they wait
}

/// The peers hear of it from the word in this rank's area, which their blocks look at while they wait.
void CudaCommunicator::Impl::abort() {
  static const std::uint64_t aborted = static_cast<std::uint64_t>(device::Outcome::aborted);
  raise_abort();
  if (turns_) turns_->stop();
  parts_.host->abort();  // nor will the peers wait for this rank at the end
  const OnDevice on(parts_.device);
  auto* area = reinterpret_cast<device::RankWords*>(parts_.group.areas[parts_.group.rank]);
  (void)cudaMemcpyAsync(&area->state, &aborted, sizeof aborted, cudaMemcpyDefault, parts_.own_stream.get());
  std::uint64_t nothing = 0;
  std::atomic_ref<std::uint64_t>(words().report.outcome).compare_exchange_strong(nothing, aborted, std::memory_order_acq_rel, std::memory_order_acquire);
}

CudaCommunicator::CudaCommunicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudaCommunicator::CudaCommunicator(CudaCommunicator&&) noexcept = default;
CudaCommunicator& CudaCommunicator::operator=(CudaCommunicator&&) noexcept = default;
CudaCommunicator::~CudaCommunicator() = default;
std::uint32_t CudaCommunicator::rank() const { return impl_->parts().group.rank; }
std::uint32_t CudaCommunicator::size() const { return impl_->parts().group.ranks; }
int CudaCommunicator::device() const { return impl_->parts().device; }
std::uint32_t CudaCommunicator::blocks() const { return impl_->parts().blocks; }
Result<void> CudaCommunicator::run(const Call& call, void* stream) { return impl_->run(call, static_cast<cudaStream_t>(stream)); }
Result<void> CudaCommunicator::all_reduce_fused(const Bucket& bucket, void* stream) {
  return impl_->run_fused(bucket, static_cast<cudaStream_t>(stream));
}
Result<void> CudaCommunicator::exchange(std::span<const CudaMessage> messages) { return impl_->run_messages(messages, Collective::send_recv); }
Result<void> CudaCommunicator::all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type, void* stream) {
  return impl_->all_to_all_v(input, sent, output, received, type, stream);
}
Result<void> CudaCommunicator::check() const { return impl_->check(); }
Result<void> CudaCommunicator::use_plan(const Plan& plan, bool unverified) { return impl_->use_plan(plan, unverified); }
Result<Plan> CudaCommunicator::plan_for(const Call& call) const { return impl_->plan_for(call); }
Result<void> CudaCommunicator::set_timeout(std::chrono::nanoseconds timeout) { return impl_->set_timeout(timeout); }
void CudaCommunicator::abort() { impl_->abort(); }

}  // namespace rondo

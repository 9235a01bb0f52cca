#include "communicator/cuda/turns.hpp"

#include <cuda.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <type_traits>

#include "base/on_device.hpp"
#include "base/quiet_thread.hpp"
#include "base/shared_library.hpp"
#include "device/cuda/launch.hpp"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds brisk{200};  ///< so long an event is asked for without a pause
constexpr std::chrono::microseconds pause{50};
constexpr std::chrono::microseconds longest_pause{500};  ///< between looks at messages that don't come

using WaitValue = CUresult(CUDAAPI*)(CUstream, CUdeviceptr, cuuint64_t, unsigned);

/// The driver's function, which programs aren't linked with; null where it has none.
WaitValue wait_value() {
  static const WaitValue found = [] {
    std::remove_pointer_t<WaitValue>* function = nullptr;
    if (auto driver = SharedLibrary::load({"libcuda.so.1"})) driver->find("cuStreamWaitValue64_v2", function);
    return function;
  }();
  return found;
}

bool has_failed(device::HostWords& words) {
  return std::atomic_ref<std::uint64_t>(words.report.outcome).load(std::memory_order_acquire) != 0;  // pairs with fail() on the GPU
}

/// What it was, and 0 from now on.
std::uint64_t take_word(std::uint64_t& word) { return std::atomic_ref<std::uint64_t>(word).exchange(0, std::memory_order_acq_rel); }

Error failed_peer(std::uint64_t rank) { return Error{Errc::peer_failed, "rank " + std::to_string(rank) + " has failed", 0, "GPU"}; }

}  // namespace

Result<void> streams_can_wait() {
  if (wait_value() != nullptr) return {};
  return Error{Errc::unsupported, "the driver has no cuStreamWaitValue64, by which ranks that share a GPU as processes take turns", 0, "CUDA"};
}

Result<std::unique_ptr<Turns>> Turns::make(Communicator& host, device::HostWords& words, int device) {
  std::unique_ptr<Turns> turns(new Turns(host, words, device));
  auto stream = make_stream();
  if (!stream) return stream.error();
  turns->stream_ = std::move(*stream);
  auto event = make_event();
  if (!event) return event.error();
  turns->round_end_ = std::move(*event);
  turns->running_ = true;
  const int refused = start_quiet_thread("rondo-turns", [self = turns.get()] { self->run(); });
  if (refused == 0) return turns;
  turns->running_ = false;
  return Error{Errc::out_of_resources, "starting a thread for ranks that share a GPU by turns", refused, "CUDA"};
}

Turns::~Turns() {
  std::unique_lock holds(lock_);
  leaving_ = true;
  changed_.notify_all();
  changed_.wait(holds, [&] { return !running_; });
}

Result<void> Turns::enqueue(const DeviceCall& call, cudaStream_t stream) { return enqueue(std::variant<DeviceCall, Exchanged>(call), stream); }

Result<void> Turns::enqueue(const device::Exchange& exchange, const std::vector<device::Message>& messages, cudaStream_t stream) {
  return enqueue(std::variant<DeviceCall, Exchanged>(Exchanged{exchange, messages}), stream);
}

Result<void> Turns::enqueue(std::variant<DeviceCall, Exchanged> call, cudaStream_t stream) {
  auto event = make_event();
  if (!event) return event.error();
  Work work{std::move(call), std::move(*event), 0};
  if (auto recorded = cuda_result(cudaEventRecord(work.ready.get(), stream), "marking a call's beginning"); !recorded) return recorded;
  const std::lock_guard holds(lock_);
  if (failure_) return *failure_;
  work.number = enqueued_ + 1;
  const auto word = reinterpret_cast<CUdeviceptr>(&words_.done);  // mapped memory has one address
  if (const CUresult status = wait_value()(stream, word, work.number, CU_STREAM_WAIT_VALUE_GEQ); status != CUDA_SUCCESS)
    return Error{Errc::unsupported, "making a stream wait for a collective: CUDA's driver says " + std::to_string(status), static_cast<int>(status), "CUDA"};
  ++enqueued_;
  queue_.push_back(std::move(work));
  changed_.notify_all();
  return {};
}

std::optional<Error> Turns::failure() const {
  const std::lock_guard holds(lock_);
  return failure_;
}

void Turns::stop() {
  stopping_.store(true, std::memory_order_release);  // pairs with wait_for()
}

bool Turns::end_before(Clock::time_point deadline) {
  std::unique_lock holds(lock_);
  return changed_.wait_until(holds, deadline, [&] { return ended_ == enqueued_ || failure_; });
}

void Turns::run() {
  const OnDevice on(device_);
  do_all();
  const std::lock_guard holds(lock_);
  running_ = false;
  changed_.notify_all();
}

void Turns::do_all() {
  for (;;) {
    std::unique_lock holds(lock_);
    changed_.wait(holds, [&] { return leaving_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    holds.unlock();
    const auto done = carry_out(work);
    holds.lock();
    if (!done) {
      failure_ = done.error();
      queue_.clear();
      say_done(std::numeric_limits<std::int64_t>::max());  // no stream waits any more; check() says why
      changed_.notify_all();
      return;
    }
    ended_ = work.number;
    say_done(work.number);
    changed_.notify_all();
  }
}

void Turns::say_done(std::uint64_t number) {
  std::atomic_ref<std::uint64_t>(words_.done).store(number, std::memory_order_release);  // pairs with the stream's wait
}

Result<void> Turns::wait_for(cudaEvent_t event) const {
  for (const auto begun = Clock::now();;) {
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaSuccess) return {};
    if (status != cudaErrorNotReady) return cuda_result(status, "running a collective");
    if (stopping_.load(std::memory_order_acquire)) return Error{Errc::aborted, "abort() was called", 0, "GPU"};  // pairs with stop()
    if (Clock::now() - begun < brisk) std::this_thread::yield();
    else std::this_thread::sleep_for(pause);
  }
}

/// Ranks that disagree would go through different rounds.
Result<void> Turns::agree_on(const DeviceCall& call, std::uint64_t number) {
  const std::uint64_t digest = call.plan->identity.digest();
  std::uint64_t extremes[2] = {digest, ~digest};  // the largest, and by its complement the smallest
  if (auto told = host_.all_reduce(extremes, extremes, 2, DataType::u64, ReduceOp::max); !told) return told;
  if (extremes[0] == ~extremes[1]) return {};
  return Error{Errc::mismatch, "ranks are in different calls: other collective, count, type, operation, root or plan (call " + std::to_string(number) +
                                   " of rank " + std::to_string(host_.rank()) + ")", 0, "GPU"};
}

Result<void> Turns::wait_for_round() {
  if (auto recorded = cuda_result(cudaEventRecord(round_end_.get(), stream_.get()), "marking a round's end"); !recorded) return recorded;
  return wait_for(round_end_.get());
}

Result<void> Turns::run_round(const DeviceCall& call, std::uint32_t round, std::uint64_t number) {
  const device::Rounds& rounds = call.plan->rounds;
  if (!rounds.runs(round)) return {};
  device::Job job = call.job;
  job.parts = call.plan->parts + std::size_t{round} * rounds.lanes;
  job.last_part = round == rounds.last;
  if (auto started = device::launch(job, call.plan->elements, call.list, stream_.get()); !started) return started;
  if (auto ended = wait_for_round(); !ended) return ended;
  if (!has_failed(words_)) return {};
  return Error{Errc::mismatch, "the GPU's blocks found what they waited for missing (call " + std::to_string(number) + ")", 0, "GPU"};
}

/// Whoever fails says so at the end of the round, and all end with it.
Result<void> Turns::carry_out(const Work& work) {
  if (auto ready = wait_for(work.ready.get()); !ready) {
    host_.abort();  // the peers wait for this rank there
    return ready;
  }
  if (const auto* exchange = std::get_if<Exchanged>(&work.call)) return run_exchange(*exchange);
  return run_rounds(std::get<DeviceCall>(work.call), work.number);
}

Result<void> Turns::run_rounds(const DeviceCall& call, std::uint64_t number) {
  if (auto set = host_.set_timeout(std::chrono::nanoseconds(call.job.group.timeout_ns)); !set) return set;
  if (auto agreed = agree_on(call, number); !agreed) return agreed;
  for (std::uint32_t round = 0; round < call.plan->rounds.count(); ++round) {
    const auto mine = run_round(call, round, number);
    std::uint64_t failed = mine ? 0 : std::uint64_t{host_.rank()} + 1;
    const auto told = host_.all_reduce(&failed, &failed, 1, DataType::u64, ReduceOp::max);
    if (!mine) return mine;
    if (!told) return told;
    if (failed != 0) return failed_peer(failed - 1);
  }
  return {};
}

/// The peers of the messages, and whoever meets this rank in a collective, hear of a failure.
Result<void> Turns::run_exchange(const Exchanged& call) {
  const auto done = go_on(call);
  if (done) return done;
  const std::uint64_t outcome = static_cast<std::uint64_t>(device::Outcome::peer_failed);
  const device::Group& group = call.exchange.group;
  auto* const state = &reinterpret_cast<device::RankWords*>(group.areas[group.rank])->state;
  (void)cudaMemcpyAsync(state, &outcome, sizeof outcome, cudaMemcpyDefault, stream_.get());
  (void)cudaStreamSynchronize(stream_.get());
  host_.abort();
  return done;
}

/// Blocks go as far as they can, and leave; until none of them had to.
Result<void> Turns::go_on(const Exchanged& call) {
  const std::chrono::nanoseconds timeout(call.exchange.group.timeout_ns);
  auto moved = Clock::now();
  auto waits = pause;
  for (;;) {
    if (auto started = device::launch_exchange(call.exchange, call.messages.data(), stream_.get()); !started) return started;
    if (auto ended = wait_for_round(); !ended) return ended;
    const std::uint64_t waiting = take_word(words_.waiting);
    const bool any_moved = take_word(words_.moved) != 0;
    if (has_failed(words_)) return Error{Errc::peer_failed, "a message has failed", 0, "GPU"};  // check() has more of it
    if (waiting == 0) return {};
    if (any_moved) {
      moved = Clock::now();
      waits = pause;
      continue;
    }
    if (Clock::now() - moved > timeout)
      return Error{Errc::deadline_exceeded, "rank " + std::to_string(waiting - 1) + " was waited for in vain, by a message of rank " +
                                                std::to_string(call.exchange.group.rank), 0, "GPU"};
    if (auto there = host_.check(); !there) return there;
    std::this_thread::sleep_for(waits);
    waits = std::min(2 * waits, longest_pause);
  }
}

}  // namespace rondo

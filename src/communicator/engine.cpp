// Running calls: a call in the caller's thread from its arguments to its end, and started ones up to their queues.
#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/log.hpp"
#include "communicator/groups.hpp"
#include "communicator/check.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

constexpr std::size_t most_prepared = 1024;
constexpr std::uint32_t turns_without_look = 16;
constexpr std::int64_t slow_warning_ns = 5'000'000'000;
constexpr std::int64_t stopped_ns = 1'000'000'000;  // a rank that hasn't looked around for so long was stopped, or had no processor

Task task_of(const Call& call) { return Task{key_of(call), Binding{call.input, call.output, call.scale}}; }

Task task_of(const void* input, void* output, DataType type, const BlockTable* blocks) {
  return Task{PlanKey{0, 0, Collective::all_to_all_v, type, ReduceOp::sum}, Binding{input, output, 1, blocks}};
}

std::shared_ptr<Operation> operation_of(const Task& task) {
  auto operation = std::make_shared<Operation>();
  operation->task = task;
  return operation;
}

/// An operation that keeps its blocks.
std::shared_ptr<Operation> operation_of(const void* input, void* output, DataType type, BlockTable blocks) {
  auto operation = std::make_shared<Operation>();
  operation->blocks = std::make_unique<const BlockTable>(std::move(blocks));
  operation->task = task_of(input, output, type, operation->blocks.get());
  return operation;
}

}  // namespace

Result<void> Communicator::Impl::run(const Call& call) {
  if (born_in_ != fork_generation()) [[unlikely]] return forked_error();
  if (has_lists(call)) [[unlikely]] return run_apart(call);
  if (in_group()) [[unlikely]] return group_call(*main_, operation_of(task_of(call)));
  token_.acquire();
  if (repeats(call)) return run_prepared(*main_, main_->sync);
  return run_task(*main_, task_of(call));
}

/// Whether a call is like a recent one and nothing is in its way: `sync` of the main channel is then ready to run it. False doesn't mean that it is
/// new. Needs the token.
inline bool Communicator::Impl::repeats(const Call& call) {
  Channel& channel = *main_;
  if (has_to_queue(channel) || coalesce_below_ != 0 || broken_.load(std::memory_order_relaxed)) return false;
  const PlanCache::Recent* recent = channel.cache.repeated(call);
  if (recent == nullptr || recent->key.op == ReduceOp::premul_sum || !recent->prepared->rule.accepts(call.input, call.output)) return false;
  if (is_in_place_for_all(recent->key, call.input, call.output)) return false;
  if (may_be_symmetric() ? !lies_alike(*recent, call) : recent->key.symmetric || recent->key.in_place) return false;
  Operation& operation = channel.sync;
  operation.task.key = recent->key;
  operation.task.binding = Binding{call.input, call.output, call.scale};
  operation.prepared = recent->prepared;
  return true;
}

Result<void> Communicator::Impl::run_blocks(const void* input, void* output, DataType type, BlockTable blocks) {
  if (in_group()) return group_call(*main_, operation_of(input, output, type, std::move(blocks)));
  return run_channel(*main_, task_of(input, output, type, &blocks));
}

Work Communicator::Impl::start_blocks(const void* input, void* output, DataType type, BlockTable blocks) {
  return start_on(Result<Channel*>(main_.get()), operation_of(input, output, type, std::move(blocks)));
}

Result<void> Communicator::Impl::run_pair(const Task& task, std::uint32_t from, std::uint32_t to) {
  if (born_in_ != fork_generation()) return forked_error();
  token_.acquire();
  auto channel = pair_channel(from, to);
  token_.release();
  if (!channel) return channel.error();
  if (in_group()) return group_call(**channel, operation_of(task));
  return run_channel(**channel, task);
}

/// A call on the caller's thread. The one that repeats, here or in run(), allocates nothing, reads no clock and takes one uncontended exchange.
Result<void> Communicator::Impl::run_channel(Channel& channel, const Task& task) {
  if (born_in_ != fork_generation()) [[unlikely]] return forked_error();
  token_.acquire();
  return run_task(channel, task);
}

/// Needs the token, gives it back.
Result<void> Communicator::Impl::run_task(Channel& channel, const Task& task) {
  if (has_to_queue(channel) || (coalesce_below_ != 0 && is_small(task.key))) [[unlikely]] return run_queued(channel, task);
  Operation& operation = channel.sync;
  operation.task = task;
  const bool well_placed = &channel != main_.get() || !may_be_symmetric() || note_memory(operation.task);
  operation.prepared = channel.cache.repeated(operation.task.key);
  const bool repeats = operation.prepared != nullptr && well_placed && operation.prepared->rule.accepts(task.binding.input, task.binding.output) &&
                       !broken_.load(std::memory_order_relaxed) && !wrong_scale(task.key.op, task.key.type, task.binding.scale);
  if (!repeats) [[unlikely]] return run_first(channel, operation);
  return run_prepared(channel, operation);
}

/// A call behind others of its channel, started ones, another thread's or a probe's. Needs the token, gives it back.
Result<void> Communicator::Impl::run_queued(Channel& channel, const Task& task) {
  const auto operation = operation_of(task);
  enqueue(channel, operation);
  token_.release();
  return wait(Work::State{nullptr, {operation}, std::nullopt}, 0);
}

/// A call that doesn't repeat the last one. Needs the token, gives it back.
Result<void> Communicator::Impl::run_first(Channel& channel, Operation& operation) {
  if (auto error = prepare(channel, operation)) {
    token_.release();
    return *error;
  }
  crash_point("call: prepared");
  return run_prepared(channel, operation);
}

/// Needs the token, gives it back.
inline Result<void> Communicator::Impl::run_prepared(Channel& channel, Operation& operation) {
  operation.started_ns = 0;
  operation.timeout_ns = 0;
  begin(channel, operation);
  crash_point("call: begun");
  // What peers wait for comes first, then what is noted of the call, while they answer.
  Progress progress = advance(channel, operation, 0);
  record_begin(channel, operation);
  if (progress == Progress::blocked) progress = advance(channel, operation, policy_.spins);
  if (progress != Progress::done) [[unlikely]] return finish_slowly(channel, operation);
  recorder_.at(operation.record_index).state = FlightRecorder::State::done;
  crash_point("call: done");
  token_.release();
  return {};
}

/// Needs the token, gives it back; and for a while where another thread wants it, which may have what a peer of this call waits for.
Result<void> Communicator::Impl::finish_slowly(Channel& channel, Operation& operation) {
  channel.sync_waits = true;
  const auto error = wait_for_peers(channel, operation);
  channel.sync_waits = false;
  record_end(operation, error ? FlightRecorder::State::failed : FlightRecorder::State::done);
  if (error) {
    fail(*error);  // late, since the record is printed
    leave_buffers(channel, operation);
  }
  release_and_tell(Teller::caller);
  if (error) return broken_error();
  return {};
}

/// Why the operation can't end, or nothing: it has ended.
std::optional<Error> Communicator::Impl::wait_for_peers(Channel& channel, Operation& operation) {
  Sleep sleep(sleep_word_);
  std::int64_t since = 0, waited = 0;
  std::pair<const ExecStep*, std::uint64_t> place{};
  for (std::uint32_t turn = 1;; ++turn) {
    const bool sleepy = waited >= policy_.sleep_after_ns;  // then other threads get the token meanwhile, and a look is one look
    const bool alone = !sleepy && pending_.load(std::memory_order_relaxed) == 0 && !token_.wanted() && ended_.empty();
    // Where ranks share processors the others come first; clock and causes can wait for a few turns.
    const bool hurried = policy_.spins == 0 && turn % turns_without_look != 0 && alone;
    if (hurried) sched_yield();
    const Progress progress = advance(channel, operation, sleepy ? 1 : policy_.spins);
    if (progress == Progress::done) return std::nullopt;
    if (hurried && progress == Progress::blocked) continue;
    if (auto error = look_around(channel, operation, progress)) return error;
    const std::int64_t now = now_ns();
    // Whom a signal wakes may sleep between any two pieces; a blind sleeper must not while pieces come.
    const std::pair stands{operation.run.blocked_step(), operation.run.blocked_piece()};
    if (since == 0) since = operation.started_ns;
    if (sleep_word_ == nullptr && std::exchange(place, stands) != stands) since = now;
    waited = now - since;
    if (alone) {
      wait_a_turn(policy_, waited, sleep);
      continue;
    }
    release_mid_call();
    wait_a_turn(policy_, std::max(waited, policy_.yield_after_ns), sleep);
    token_.acquire();
    pump_all();
  }
}

std::optional<Error> Communicator::Impl::prepare(Channel& channel, Operation& operation) {
  if (broken_.load(std::memory_order_acquire)) return broken_error();
  if (&channel == main_.get() && may_be_symmetric() && !note_memory(operation.task)) return wrong_memory(operation.task);
  return prepare_key(channel, operation);
}

/// What is left to do once the operation's key is known.
std::optional<Error> Communicator::Impl::prepare_key(Channel& channel, Operation& operation) {
  if (channel.cache.size() >= most_prepared) channel.cache.clear();  // what is being prepared is the channel's next: nothing of it runs
  operation.prepared = channel.cache.repeated(operation.task.key);
  if (operation.prepared == nullptr) {
    if (auto error = wrong_key(operation.task.key, size())) return error;
    auto prepared = channel.cache.find(operation.task.key);
    if (!prepared) return prepared.error();
    operation.prepared = *prepared;
  }
  if (auto error = wrong_scale(operation.task.key.op, operation.task.key.type, operation.task.binding.scale)) return error;
  const Executable& executable = operation.prepared->executable;
  if (executable.by_blocks) {
    if (auto error = too_many_pieces(executable, *operation.task.binding.blocks)) return error;
  } else if (const Binding& binding = operation.task.binding; binding.segments != nullptr) {
    if (auto error = wrong_placement(operation.prepared->rule, *binding.segments)) return error;
  } else if (binding.apart != nullptr) {
    const bool in_place = binding.apart[rank()] == binding.input || binding.apart[rank()] == binding.output;
    if (auto error = wrong_placement(operation.prepared->rule, in_place, in_place)) return error;
  } else if (!operation.prepared->rule.accepts(operation.task.binding.input, operation.task.binding.output)) {
    return wrong_pointers(operation.prepared->rule, operation.prepared->identity, operation.task.binding.input, operation.task.binding.output);
  }
  if (!channel.staging_committed && executable.slot_stride != 0 && !executable.inlined)
    if (auto committed = commit_staging(channel); !committed) {
      fail(committed.error());  // the others wait for what will not come
      return broken_error();
    }
  return std::nullopt;
}

Result<void> Communicator::Impl::commit_staging(Channel& channel) {
  const std::uint64_t bytes = channel.context.layout().half_bytes * 2;
  if (auto committed = parts_.transport->commit(channel.staging_offset, bytes); !committed) return committed;
  crash_point("call: staging taken");
  channel.staging_committed = true;
  return {};
}

/// The next thing to do with the operation is to record its beginning, in the same turn of the crank.
inline void Communicator::Impl::begin(Channel& channel, Operation& operation) {
  const PreparedPlan& prepared = *operation.prepared;
  operation.begun = true;
  operation.warned = false;
  channel.until_probe -= prepared.work;
  if (has_lifelines_) [[unlikely]] tend_lifelines();  // also on a rank that never waits, which hears the others' heartbeats here
  if (operation.batch == nullptr || operation.batch->members.empty()) {
    operation.run.begin(channel.context, prepared.executable, prepared.identity, prepared.digest, operation.task.binding);
    return;
  }
  CallIdentity& identity = operation.batch->identity = prepared.identity;
  identity.plan_hash ^= operation.batch->lengths;
  operation.run.begin(channel.context, prepared.executable, identity, identity.digest(), operation.task.binding);
}

void Communicator::Impl::begin_recorded(Channel& channel, Operation& operation) {
  begin(channel, operation);
  record_begin(channel, operation);
}

inline void Communicator::Impl::record_begin(const Channel& channel, Operation& operation) {
  const PreparedPlan& prepared = *operation.prepared;
  operation.record_index = recorder_.next();
  FlightRecorder::Entry& entry = recorder_.at(operation.record_index);
  entry.call = operation.run.call();
  entry.identity = prepared.identity;
  entry.algorithm = prepared.name;
  entry.peer = &channel == main_.get() ? 0 : channel.context.member(1 - channel.context.rank()) + 1;
  entry.state = FlightRecorder::State::running;
  entry.slow_ns = 0;
}

void Communicator::Impl::record_end(Operation& operation, FlightRecorder::State state) {
  FlightRecorder::Entry& entry = recorder_.at(operation.record_index);
  entry.state = state;
  if (operation.started_ns == 0) return;
  entry.slow_ns = now_ns() - operation.started_ns;
  note_end_of_waiting();
}

/// A call on symmetric memory that isn't one on another rank: then all make it as one on ordinary memory, which none has begun to do anything but that.
std::optional<Error> Communicator::Impl::begin_as_ordinary(Channel& channel, Operation& operation) {
  operation.run.withdraw();
  channel.until_probe += operation.prepared->work;
  operation.task.key = ordinary(operation.task.key);
  if (auto error = prepare_key(channel, operation)) return error;
  if (tracer_ != nullptr) tracer_->begin_again(channel);
  begin(channel, operation);
  FlightRecorder::Entry& entry = recorder_.at(operation.record_index);
  entry.identity = operation.prepared->identity;
  entry.algorithm = operation.prepared->name;
  return std::nullopt;
}

/// What a slow wait does besides waiting: at a bounded rate it looks for reasons why it may never end.
std::optional<Error> Communicator::Impl::look_around(Channel& channel, Operation& operation, Progress progress) {
  if (operation.run.must_withdraw()) {
    if (auto error = begin_as_ordinary(channel, operation)) return error;
  } else if (progress == Progress::mismatch) {
    return explain_mismatch(channel, operation);
  }
  const std::int64_t now = now_ns();
  if (operation.started_ns == 0) {
    operation.started_ns = now;
    operation.next_check_ns = now + check_interval_ns;  // a queued call comes here with its first wait, which is rarely a long one
    operation.absent_ns = 0;
    if (operation.timeout_ns == 0) operation.timeout_ns = timeout_ns_.load(std::memory_order_relaxed);
  }
  if (now < operation.next_check_ns) return std::nullopt;
  if (now - operation.next_check_ns > stopped_ns) operation.absent_ns += now - operation.next_check_ns;
  operation.next_check_ns = now + check_interval_ns;
  note_waiting(channel, operation);
  if (auto error = diagnose(channel, operation)) return error;
  const std::int64_t waited = now - operation.started_ns;
  if (waited > operation.timeout_ns)
    return Error{Errc::deadline_exceeded, title(operation) + " did not end within " +
                                              std::to_string(operation.timeout_ns / 1'000'000) + " ms: " + slowest(channel, operation), 0,
                 "rank " + std::to_string(rank())};
  if (waited - operation.absent_ns > slow_warning_ns && !operation.warned) {
    operation.warned = true;
    log_warn("rank " + std::to_string(rank()) + ": " + title(operation) + " has waited for 5 s: " + slowest(channel, operation));
  }
  return std::nullopt;
}

Work Communicator::Impl::start(const Call& call) {
  if (has_lists(call)) return start_apart(call);
  return start_on(Result<Channel*>(main_.get()), operation_of(task_of(call)));
}

Work Communicator::Impl::start_pair(const Task& task, std::uint32_t from, std::uint32_t to) {
  if (born_in_ != fork_generation()) return failed_work(forked_error());
  token_.acquire();
  auto channel = pair_channel(from, to);
  token_.release();
  auto operation = operation_of(task);
  if (from != rank()) operation->source = from;
  return start_on(channel, std::move(operation));
}

Work Communicator::Impl::start_on(const Result<Channel*>& channel, std::shared_ptr<Operation> operation) {
  if (born_in_ != fork_generation()) return failed_work(forked_error());
  auto state = std::make_shared<Work::State>();
  state->owner = shared_from_this();
  state->operations.push_back(operation);
  if (!channel) {  // the communicator is broken, which other calls are told when they are waited for
    operation->error = channel.error();
    operation->done.store(true, std::memory_order_release);
    if (in_group()) ThreadGroup::of_this_thread().find(this)->operations.push_back(operation);  // group_end() tells of it, too
    return Work(state);
  }
  const TokenGuard guard(token_);
  if (!in_group())
    if (auto error = need_progress_thread()) return failed_work(std::move(*error));
  enqueue(**channel, operation);
  return Work(state);
}

Work Communicator::Impl::failed_work(Error error) {
  auto state = std::make_shared<Work::State>();
  state->owner = shared_from_this();
  state->error = std::move(error);
  return Work(state);
}

Result<void> Communicator::Impl::group_call(Channel& channel, std::shared_ptr<Operation> operation) {
  if (born_in_ != fork_generation()) return forked_error();
  const TokenGuard guard(token_);
  enqueue(channel, operation);
  return {};
}

void Communicator::Impl::enqueue(Channel& channel, const std::shared_ptr<Operation>& operation) {
  channel.queue.push_back(operation);
  announce(operation);
}

/// Counts an operation that a queue has, and wakes whoever runs it.
void Communicator::Impl::announce(const std::shared_ptr<Operation>& operation) {
  operation->timeout_ns = timeout_ns_.load(std::memory_order_relaxed);
  pending_.fetch_add(1, std::memory_order_seq_cst);  // before wake_progress() looks whether that is needed
  if (in_group()) {
    ThreadGroup::of_this_thread().find(this)->operations.push_back(operation);
    return;  // group_end() runs them
  }
  wake_progress();
}

Result<void> Communicator::Impl::set_timeout(std::chrono::nanoseconds timeout) {
  if (auto error = wrong_timeout(timeout, rank())) return *error;
  timeout_ns_.store(timeout.count(), std::memory_order_relaxed);
  return {};
}

}  // namespace rondo

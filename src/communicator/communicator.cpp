// The public face: thin over Impl.
#include "rondo/communicator.hpp"

#include <time.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "base/log.hpp"
#include "bootstrap/launcher.hpp"
#include "communicator/channels.hpp"
#include "communicator/create.hpp"
#include "communicator/check.hpp"
#include "communicator/impl.hpp"
#include "communicator/meet.hpp"
#include "communicator/told.hpp"
#include "communicator/settings.hpp"
#include "plan/limits.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t most_coalesce_bytes = 1u << 30;
constexpr auto longest_coalesce_time = std::chrono::seconds(1);
constexpr std::int64_t drain_ns = 10'000'000'000;
constexpr std::int64_t grace_ns = 100'000'000;

/// What the environment sets holds where the program set nothing.
Result<CommunicatorOptions> with_environment(CommunicatorOptions options) {
  const auto set = settings();
  if (!set) return set.error();
  const CommunicatorOptions standard;
  if (set->timeout && options.timeout == standard.timeout) options.timeout = *set->timeout;
  if (options.algorithm.empty()) options.algorithm = set->algorithm;
  options.strict = options.strict || set->strict;
  options.integrity = options.integrity || set->integrity;
  if (options.coalesce_bytes == 0) options.coalesce_bytes = set->coalesce_bytes;
  if (options.coalesce_time.count() == 0) options.coalesce_time = set->coalesce_time;
  for (const auto& [name, given] : {std::pair("timeout", options.timeout), std::pair("bootstrap_timeout", options.bootstrap_timeout)})
    if (given.count() <= 0)
      return Error{Errc::invalid_argument, std::string(name) + " is " + std::to_string(given.count()) + " ns; accepted: above 0", 0, "communicator"};
  if (options.coalesce_time.count() < 0 || options.coalesce_time > longest_coalesce_time)
    return Error{Errc::invalid_argument, "coalesce_time is " + std::to_string(options.coalesce_time.count()) + " ns; accepted: 0 to 1 s", 0, "communicator"};
  if (options.coalesce_bytes > most_coalesce_bytes)
    return Error{Errc::invalid_argument, "coalesce_bytes is " + std::to_string(options.coalesce_bytes) + "; accepted: 0 to 1073741824 (1 GiB)", 0,
                 "communicator"};
  if (const std::string choices = choices_for_algorithm(options.algorithm); !choices.empty())
    return Error{Errc::invalid_argument, "unknown algorithm '" + options.algorithm + "'; accepted: " + choices, 0, "communicator"};
  return options;
}

std::optional<Error> wrong_size(std::uint32_t ranks) {
  if (ranks >= 1 && ranks <= plan::max_ranks) return std::nullopt;
  return Error{Errc::invalid_argument, "a communicator of " + std::to_string(ranks) + " ranks; accepted: 1 to " + std::to_string(plan::max_ranks), 0,
               "communicator"};
}

/// The one rank of this process in a job whose ranks find one another as `meet` has it.
template <class Meet>
Result<Communicator> of_job(std::uint32_t rank, std::uint32_t size, const CommunicatorOptions& options, const Meet& meet) {
  if (auto error = wrong_size(size)) return *error;
  if (rank >= size)
    return Error{Errc::invalid_argument, "rank " + std::to_string(rank) + " is not below " + std::to_string(size) + " ranks", 0, "communicator"};
  auto merged = with_environment(options);
  if (!merged) return merged.error();
  // First, since it looks for the descriptors that all the rest needs and tells the other ranks when there are too few.
  auto bootstrap = meet(deadline_after(merged->bootstrap_timeout), merged->stays_away);
  if (!bootstrap) return bootstrap.error();
  auto view = discover_topology();
  if (!view) return view.error();
  auto parts = join(**bootstrap, rank, size, *merged, *view, 1);
  if (!parts) return parts.error();
  return Assembly::of(std::move(*parts));
}

}  // namespace

Communicator::Impl::Impl(CommunicatorParts parts)
    : parts_(std::move(parts)), timeout_ns_(parts_.options.timeout.count()), coalesce_below_(parts_.size > 1 ? parts_.options.coalesce_bytes : 0),
      policy_(wait_policy(parts_.oversubscribed, parts_.reach() != Reach::memory)), main_(make_main_channel(parts_)),
      sleep_word_(sleepers_are_woken(parts_) ? &main_->context.sleep_line(parts_.rank).asleep : nullptr) {
  main_->until_probe = work_until_probe();
  introduce(parts_, main_->context.sleep_line(parts_.rank).identity);
}

Communicator::Impl::~Impl() { leave(); }

/// The handle has gone. Work in flight is drained first; what doesn't end in time is aborted. Works that are kept have ended then: nothing of this
/// rank touches the others' memory any more.
void Communicator::Impl::leave() {
  if (std::exchange(left_, true)) return;
  if (born_in_ != fork_generation()) {  // the parent's: its threads aren't here, and its state is not ours to change
    for (std::thread& thread : progress_threads_) thread.detach();
    return;
  }
  leave_group();
  crash_point("farewell: begun");
  draining_.store(true, std::memory_order_relaxed);
  // A little longer than calls have: what they say of their deadline's end says more than an abort.
  const std::int64_t deadline = now_ns() + std::min<std::int64_t>(drain_ns, timeout_ns_.load(std::memory_order_relaxed)) + grace_ns;
  while (pending_.load(std::memory_order_acquire) != 0 && !broken_.load(std::memory_order_acquire) && now_ns() < deadline) {
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
  if (pending_.load(std::memory_order_acquire) != 0 && !broken_.load(std::memory_order_acquire)) abort();
  {
    const std::lock_guard lock(progress_mutex_);
    stopping_ = true;
    progress_wake_.notify_all();
  }
  crash_point("farewell: drained");
  leave_tellings();
  for (std::thread& thread : progress_threads_)
    if (thread.get_id() == std::this_thread::get_id()) thread.detach();  // it told of a call's end, and there the last handle went
    else thread.join();
  while (pending_.load(std::memory_order_acquire) != 0) {  // they end now that the communicator is broken
    token_.acquire();
    pump_all();
    release_and_tell(Teller::caller);
  }
  { const TokenGuard guard(token_); }  // whoever ended the last call holds it until the call's work says so
  crash_point("farewell: threads ended");
  SharedWord& state = main_->context.status(rank()).state;
  // pairs with find_lost_peer(): comes after this rank's last words
  if (state.load(std::memory_order_relaxed) == static_cast<std::uint64_t>(MemberState::running))
    state.store(static_cast<std::uint64_t>(MemberState::left), std::memory_order_release);
  leave_survivors();
  crash_point("farewell: said to the others");
  tell_departure();
  if (parts_.room.bytes == 0) return;
  std::vector<StagingShare> shares;
  shares.push_back(std::move(parts_.share));
  for (auto& [pair, channel] : pairs_) shares.push_back(std::move(channel->share));
  parts_.family->leave(parts_.room, parts_.epoch, std::move(parts_.ledger), std::move(shares));
  crash_point("farewell: room given back");
}

Result<Channel*> Communicator::Impl::pair_channel(std::uint32_t from, std::uint32_t to) {
  if (const auto found = pairs_.find({from, to}); found != pairs_.end()) return found->second.get();
  if (broken_.load(std::memory_order_acquire)) return broken_error();
  auto channel = make_pair_channel(parts_, from, to);
  crash_point("connect: channel of a pair made");
  if (!channel) {
    fail(channel.error());  // the other side waits for what will not come
    return broken_error();
  }
  (*channel)->context.claims = main_->context.claims;  // who waits for an answer asks for what it sends next
  if (from == rank() && to < DestinationLine::most_ranks && parts_.shares_memory_with(to)) {
    SharedWord& word = main_->context.destinations(rank()).words[to / 64];
    // pairs with may_have_sent() of the receiver: the control words are memory by now
    word.store(word.load(std::memory_order_relaxed) | std::uint64_t{1} << (to % 64), std::memory_order_release);
  }
  // Entered only when it works: the engine turns every channel in the map.
  return (pairs_[{from, to}] = std::move(*channel)).get();
}

Result<void> Communicator::Impl::use_plan(const Plan& plan, bool unverified) { return adopt_plan(*main_, plan, unverified); }

Result<Plan> Communicator::Impl::plan_for(const Call& call) {
  if (born_in_ != fork_generation()) return forked_error();
  PlanKey key = key_of(call);
  if (key.collective == Collective::all_to_all_v) key.count = 0;  // its plan serves blocks of any lengths
  if (auto error = wrong_key(key, size())) return *error;
  const TokenGuard guard(token_);
  Task task{key, Binding{call.input, call.output}};
  if (may_be_symmetric()) (void)note_memory(task);  // planning reads no memory: any will do
  return main_->cache.plan(task.key, alias_of(call, rank()));
}

Communicator Assembly::of(CommunicatorParts parts) { return Communicator(std::make_shared<Communicator::Impl>(std::move(parts))); }

Communicator::Communicator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (impl_ != other.impl_ && impl_ != nullptr) impl_->leave();
  impl_ = std::move(other.impl_);
  return *this;
}
Communicator::~Communicator() {
  if (impl_ != nullptr) impl_->leave();
}

Result<std::vector<Communicator>> Communicator::in_process(std::uint32_t n, const CommunicatorOptions& options) {
  if (auto error = wrong_size(n)) return *error;
  auto merged = with_environment(options);
  if (!merged) return merged.error();
  if (auto room = check_descriptors(n, n); !room) return room.error();
  auto view = discover_topology();
  if (!view) return view.error();
  auto ends = make_in_process_bootstrap(n);
  std::vector<std::optional<Result<CommunicatorParts>>> parts(n);
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> first_to_fail{n};  // the cause; the others fail because of it
  const auto join_as = [&](std::uint32_t rank) {
    parts[rank] = join(*ends[rank], rank, n, *merged, *view, n);
    if (*parts[rank]) return;
    std::uint32_t nobody = n;
    first_to_fail.compare_exchange_strong(nobody, rank, std::memory_order_relaxed);  // read after the threads are joined
    ends[rank].reset();                                                              // the others stop waiting
  };
  std::optional<Error> refused;
  for (std::uint32_t rank = 0; rank < n && !refused; ++rank) {
    try {
      threads.emplace_back(join_as, rank);
    } catch (const std::system_error& error) {
      refused = Error{Errc::out_of_resources, "making " + std::to_string(n) + " ranks takes a thread for each, and there were " + std::to_string(rank) +
                                                  " (limits: ulimit -u, the control group's pids.max)", error.code().value(), "communicator"};
      for (std::uint32_t missing = rank; missing < n; ++missing) ends[missing].reset();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (refused) return *refused;
  if (const std::uint32_t failed = first_to_fail.load(std::memory_order_relaxed); failed != n) return parts[failed]->error();
  std::vector<Communicator> communicators;
  for (auto& part : parts) communicators.push_back(Assembly::of(std::move(**part)));
  return communicators;
}

Result<Communicator> Communicator::local(std::uint32_t rank, std::uint32_t size, const std::string& job, const CommunicatorOptions& options) {
  return of_job(rank, size, options, [&](std::int64_t deadline_ns, const StaysAway& stays_away) {
    return make_local_bootstrap(rank, size, job, deadline_ns, stays_away);
  });
}

Result<Communicator> Communicator::from_environment(const CommunicatorOptions& options) {
  // What is said to Rondo itself counts before what a launcher that speaks to any library has to say.
  const Environment environment = read_environment();
  if (!environment.contains("RANK")) {
    auto launcher = find_launcher(environment);
    if (!launcher) return launcher.error();
    if (*launcher != nullptr) {
      set_log_rank((*launcher)->rank);
      return of_job((*launcher)->rank, (*launcher)->size, options,
                    [&](std::int64_t deadline_ns, const StaysAway& stays_away) { return meet_through(**launcher, deadline_ns, stays_away); });
    }
  }
  auto job = parse_job_environment(environment);
  if (!job) return job.error();
  set_log_rank(job->rank);
  return of_job(job->rank, job->size, options, [&](std::int64_t deadline_ns, const StaysAway& stays_away) { return meet(*job, deadline_ns, stays_away); });
}

Result<std::string> Communicator::unique_id() { return fresh_unique_id(); }

Result<Communicator> Communicator::by_id(std::uint32_t rank, std::uint32_t size, const std::string& id, const CommunicatorOptions& options) {
  return of_job(rank, size, options, [&](std::int64_t deadline_ns, const StaysAway& stays_away) {
    return meet_by_id(rank, size, id, deadline_ns, stays_away);
  });
}

Result<std::optional<Communicator>> Communicator::split(std::int32_t color, std::int32_t key) {
  auto parts = impl_->split(color, key);
  if (!parts) return parts.error();
  if (!*parts) return std::optional<Communicator>();
  return std::optional<Communicator>(Assembly::of(std::move(**parts)));
}
Result<Communicator> Communicator::duplicate() {
  auto copy = split(0, static_cast<std::int32_t>(rank()));
  if (!copy) return copy.error();
  return std::move(**copy);
}

Result<Communicator> Communicator::shrink() {
  auto parts = impl_->shrink();
  if (!parts) return parts.error();
  return Assembly::of(std::move(*parts));
}
Result<Communicator> Communicator::grow(std::uint32_t size, const std::string& job) {
  auto parts = impl_->grow(size, job);
  if (!parts) return parts.error();
  return Assembly::of(std::move(*parts));
}

Result<std::shared_ptr<void>> Communicator::allocate(std::uint64_t bytes) { return impl_->allocate(bytes); }
Result<std::vector<void*>> Communicator::map_peers(void* memory, std::uint64_t bytes) {
  const std::uint64_t mine = impl_->home_word(memory);
  std::vector<std::uint64_t> words(size());
  if (auto told = all_gather(&mine, words.data(), 1, DataType::u64); !told) return told.error();
  return impl_->homes_of(words, bytes);
}

std::uint32_t Communicator::rank() const { return impl_->rank(); }
std::uint32_t Communicator::size() const { return impl_->size(); }
const std::vector<std::uint32_t>& Communicator::parent_ranks() const { return impl_->parent_ranks(); }
const Topology& Communicator::topology() const { return impl_->topology(); }
Result<void> Communicator::run(const Call& call) { return impl_->run(call); }
Work Communicator::start(const Call& call) { return impl_->start(call); }

Result<void> Communicator::all_reduce(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op) {
  return impl_->run(Call{Collective::all_reduce, input, output, count, type, op});
}
Result<void> Communicator::all_reduce_fused(const Bucket& bucket) { return impl_->run_fused(bucket); }
Work Communicator::start_all_reduce_fused(const Bucket& bucket) { return impl_->start_fused(bucket); }
Result<void> Communicator::reduce(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op, std::uint32_t root) {
  return impl_->run(Call{Collective::reduce, input, output, count, type, op, root});
}
Result<void> Communicator::broadcast(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root) {
  return impl_->run(Call{Collective::broadcast, input, output, count, type, ReduceOp::sum, root});
}
Result<void> Communicator::reduce_scatter(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op) {
  return impl_->run(Call{Collective::reduce_scatter, input, output, count, type, op});
}
Result<void> Communicator::all_gather(const void* input, void* output, std::uint64_t count, DataType type) {
  return impl_->run(Call{Collective::all_gather, input, output, count, type});
}
Result<void> Communicator::all_to_all(const void* input, void* output, std::uint64_t count, DataType type) {
  return impl_->run(Call{Collective::all_to_all, input, output, count, type});
}
Result<void> Communicator::all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type) {
  auto table = impl_->block_table(input, sent, output, received, type);
  return table ? impl_->run_blocks(input, output, type, std::move(*table)) : table.error();
}
Work Communicator::start_all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type) {
  auto table = impl_->block_table(input, sent, output, received, type);
  return table ? impl_->start_blocks(input, output, type, std::move(*table)) : impl_->failed_work(table.error());
}
Result<void> Communicator::gather(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root) {
  return impl_->run(Call{Collective::gather, input, output, count, type, ReduceOp::sum, root});
}
Result<void> Communicator::scatter(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t root) {
  return impl_->run(Call{Collective::scatter, input, output, count, type, ReduceOp::sum, root});
}
Result<void> Communicator::scan(const void* input, void* output, std::uint64_t count, DataType type, ReduceOp op) {
  return impl_->run(Call{Collective::scan, input, output, count, type, op});
}
Result<void> Communicator::barrier() { return impl_->run(Call{Collective::barrier}); }

Result<void> Communicator::send(const void* data, std::uint64_t count, DataType type, std::uint32_t to) {
  auto task = impl_->pair_task(data, nullptr, count, type, to, 0);
  if (!task) return task.error();
  return impl_->run_pair(*task, rank(), to);
}
Result<void> Communicator::recv(void* data, std::uint64_t count, DataType type, std::uint32_t from) {
  auto task = impl_->pair_task(nullptr, data, count, type, from, 0);
  if (!task) return task.error();
  return impl_->run_pair(*task, from, rank());
}
Work Communicator::start_send(const void* data, std::uint64_t count, DataType type, std::uint32_t to, std::uint32_t tag) {
  auto task = impl_->pair_task(data, nullptr, count, type, to, tag);
  return task ? impl_->start_pair(*task, rank(), to) : impl_->failed_work(task.error());
}
Work Communicator::start_recv(void* data, std::uint64_t count, DataType type, std::uint32_t from, std::uint32_t tag) {
  auto task = impl_->pair_task(nullptr, data, count, type, from, tag);
  return task ? impl_->start_pair(*task, from, rank()) : impl_->failed_work(task.error());
}

Result<std::uint32_t> Communicator::recv_any(void* data, std::uint64_t count, DataType type) { return impl_->run_any(data, count, type); }
Work Communicator::start_recv_any(void* data, std::uint64_t count, DataType type, std::uint32_t tag) { return impl_->start_any(data, count, type, tag); }

void Communicator::group_begin() { impl_->group_begin(); }
Result<void> Communicator::group_end() { return impl_->group_end(); }
Result<void> Communicator::use_plan(const Plan& plan, bool unverified) { return impl_->use_plan(plan, unverified); }
Result<Plan> Communicator::plan_for(const Call& call) const { return impl_->plan_for(call); }
Result<void> Communicator::set_timeout(std::chrono::nanoseconds timeout) { return impl_->set_timeout(timeout); }
Result<void> Communicator::check() { return impl_->check_peers(); }
void Communicator::abort() { impl_->abort(); }
std::string Communicator::flight_record() const { return impl_->flight_record(); }
Result<void> Communicator::start_trace(std::uint64_t capacity) { return impl_->start_trace(capacity); }
Result<Trace> Communicator::stop_trace() { return impl_->stop_trace(); }

bool Work::done() const {
  if (state_ == nullptr) return true;
  for (const auto& operation : state_->operations)
    if (!operation->done.load(std::memory_order_acquire)) return false;
  return true;
}

std::optional<Error> Work::refusal() const { return state_ == nullptr ? std::nullopt : state_->error; }

std::optional<std::uint32_t> Work::source() const {
  if (state_ == nullptr || state_->operations.empty() || !done()) return std::nullopt;
  return state_->operations.front()->source;
}

void Work::on_end(std::function<void()> tell) {
  if (state_ == nullptr || state_->error || state_->operations.empty()) return tell();
  state_->owner->on_end(*state_, std::move(tell));
}

Result<void> Work::wait() {
  if (state_ == nullptr) return {};
  if (state_->error) return *state_->error;
  return state_->owner->wait(*state_, 0);
}

Result<void> Work::wait_for(std::chrono::nanoseconds timeout) {
  if (state_ == nullptr) return {};
  if (state_->error) return *state_->error;
  return state_->owner->wait(*state_, deadline_after(timeout));
}

}  // namespace rondo

// The communicator's inside. What belongs to one idea is in a file of its own: check.cpp (arguments), create.cpp (bootstrap),
// split.cpp (one from another), engine.cpp (running), replan.cpp (ranks that have moved), groups.cpp (calls that are collected), coalesce.cpp (small
// calls together), fused.cpp (lists), any_source.cpp (receives from anybody), progress.cpp (queued calls), tracer.cpp (recording them), failure.cpp
// (the end before its time), shrink.cpp (going on without those who have gone), diagnose.cpp (why a wait doesn't end; diagnose_links.cpp over messages),
// adopt.cpp (plans brought along).
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fork_guard.hpp"
#include "communicator/family.hpp"
#include "communicator/flight_recorder.hpp"
#include "communicator/operation.hpp"
#include "communicator/staging_budget.hpp"
#include "communicator/status_links.hpp"
#include "communicator/survivors.hpp"
#include "communicator/token.hpp"
#include "communicator/tracer.hpp"
#include "communicator/waiting.hpp"
#include "communicator/word_links.hpp"
#include "rondo/communicator.hpp"
#include "rondo/transport.hpp"

namespace rondo {

class Lifelines;

/// What creation hands over.
struct CommunicatorParts {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  CommunicatorOptions options;
  Topology topology;
  CoreFigures core;                         ///< the same on all ranks, who must plan alike
  std::vector<std::int64_t> processes;      ///< by rank, where the kernel copies from any rank's memory to any other's; else empty
  std::string token;                        ///< text that no other communicator of this machine has, equal on its ranks
  std::vector<std::string> peers;           ///< "process 4711 on host" by rank: for messages
  /// Of ranks that met over a network; null: there are none. It goes after the transport: a peer that sees its line end gives what was sent before little time.
  std::shared_ptr<Lifelines> lifelines;
  std::shared_ptr<Family> family;           ///< shared by communicators that were split from one another
  std::shared_ptr<Transport> transport;     ///< the family's, or a view of it
  std::vector<std::uint32_t> parent_ranks;  ///< by rank: the rank in the communicator that this one was made from; empty: it was made anew
  std::vector<std::uint32_t> family_ranks;  ///< by rank: the rank in the family's transport
  std::uint32_t ranks_here = 1;             ///< made together with this one by this process
  std::vector<std::uint32_t> hosts;         ///< by rank a number of its host, where ranks of one host share memory and others don't; else empty
  Room room;                                ///< of a split communicator in its rank's segment; without bytes: none
  std::uint64_t epoch = 0;                  ///< likewise
  std::vector<LedgerEntry> ledger;          ///< likewise: of the other ranks
  std::unique_ptr<StatusLinks> status_links;  ///< to ranks that share no memory with this one: their words can't be looked at; null: all do
  std::vector<std::string> addresses;         ///< of this rank's machine, for the others: one for each interface that is used
  Interfaces interfaces;                      ///< who uses which
  std::vector<std::uint32_t> lifeline_ranks;  ///< by rank: the rank by which they know it
  StagingShare share;
  ContextLayout layout;
  ContextLayout pair_layout;
  bool oversubscribed = false;
  double probed_latency_ns = 0;     ///< of a flag from rank to rank when it was made; 0: not known

  bool has_segments() const { return transport->segment_bytes() != 0; }  ///< this rank's memory is there for some ranks, or all
  bool shares_memory_with(std::uint32_t peer) const { return transport->segment(peer) != nullptr; }
  Reach reach() const { return !hosts.empty() ? Reach::hosts : has_segments() ? Reach::memory : Reach::messages; }
};

struct Work::State {
  std::shared_ptr<Communicator::Impl> owner;  // a Work may outlive the communicator's handle
  std::vector<std::shared_ptr<Operation>> operations;
  std::optional<Error> error;                 ///< of a call that never started
};

class Communicator::Impl : public std::enable_shared_from_this<Communicator::Impl> {
 public:
  explicit Impl(CommunicatorParts parts);
  ~Impl();
  void leave();

  std::uint32_t rank() const { return parts_.rank; }
  std::uint32_t size() const { return parts_.size; }
  const std::vector<std::uint32_t>& parent_ranks() const { return parts_.parent_ranks; }
  const Topology& topology() const { return parts_.topology; }

  Result<void> run(const Call& call);
  Work start(const Call& call);
  Result<void> run_pair(const Task& task, std::uint32_t from, std::uint32_t to);
  Work start_pair(const Task& task, std::uint32_t from, std::uint32_t to);
  Result<void> run_blocks(const void* input, void* output, DataType type, BlockTable blocks);
  Work start_blocks(const void* input, void* output, DataType type, BlockTable blocks);
  Result<void> run_fused(const Bucket& bucket);  // fused.cpp
  Work start_fused(const Bucket& bucket);
  Result<SegmentTable> checked_table(const Bucket& bucket) const;
  Result<void> run_apart(const Call& call);  // apart.cpp
  Work start_apart(const Call& call);
  Result<std::uint32_t> run_any(void* data, std::uint64_t count, DataType type);
  Work start_any(void* data, std::uint64_t count, DataType type, std::uint32_t tag);
  Work failed_work(Error error);
  Result<void> wait(const Work::State& work, std::int64_t deadline_ns);
  void on_end(const Work::State& work, std::function<void()> tell);
  Result<void> set_timeout(std::chrono::nanoseconds timeout);

  void group_begin();
  Result<void> group_end();
  bool in_group() const;  // groups.cpp
  Result<std::optional<CommunicatorParts>> split(std::int32_t color, std::int32_t key);  // split.cpp
  Result<CommunicatorParts> shrink();                                                    // shrink.cpp
  Result<CommunicatorParts> grow(std::uint32_t size, const std::string& job);
  Result<std::shared_ptr<void>> allocate(std::uint64_t bytes);                           // symmetric.cpp
  std::uint64_t home_word(const void* memory) const;
  Result<std::vector<void*>> homes_of(const std::vector<std::uint64_t>& words, std::uint64_t bytes) const;
  Result<void> use_plan(const Plan& plan, bool unverified);
  Result<Plan> plan_for(const Call& call);
  Result<void> check_peers();
  void abort();
  std::string flight_record();
  Result<void> start_trace(std::uint64_t capacity);  // tracer.cpp
  Result<Trace> stop_trace();

  /// check.cpp: a message to or from a peer as a task, or what is wrong with it.
  /// check.cpp: the blocks of an all_to_all_v in bytes, or what is wrong with them.
  Result<BlockTable> block_table(const void* input, const Blocks& sent, const void* output, const Blocks& received, DataType type) const;
  Result<Task> pair_task(const void* input, void* output, std::uint64_t count, DataType type, std::uint32_t peer, std::uint32_t tag) const;
  std::optional<Error> fault_of_message(const void* data, std::uint64_t count, DataType type) const;

 private:
  class Split;

  // engine.cpp; all but run_channel need the token
  Result<void> run_channel(Channel& channel, const Task& task);
  Result<void> run_task(Channel& channel, const Task& task);
  bool repeats(const Call& call);
  static bool is_busy(const Channel& channel) { return channel.sync_waits || !channel.queue.empty(); }
  /// Whether other calls of the channel come first, or those of a probe.
  static bool has_to_queue(const Channel& channel) { return is_busy(channel) || channel.until_probe <= 0; }
  Result<void> run_first(Channel& channel, Operation& operation);
  Result<void> run_prepared(Channel& channel, Operation& operation);
  Result<void> run_queued(Channel& channel, const Task& task);
  Result<void> finish_slowly(Channel& channel, Operation& operation);
  std::optional<Error> wait_for_peers(Channel& channel, Operation& operation);
  std::optional<Error> prepare(Channel& channel, Operation& operation);
  std::optional<Error> prepare_key(Channel& channel, Operation& operation);
  Result<void> commit_staging(Channel& channel);
  void begin(Channel& channel, Operation& operation);
  void record_begin(const Channel& channel, Operation& operation);
  void begin_recorded(Channel& channel, Operation& operation);
  std::optional<Error> begin_as_ordinary(Channel& channel, Operation& operation);
  /// As far as it can go now. Whether calls are traced is asked here, once a turn of the crank, and never by a step.
  Progress advance(Channel& channel, Operation& operation, std::uint32_t spins) {
    if (tracer_ != nullptr) [[unlikely]] return tracer_->advance(channel, operation, spins);
    return operation.run.advance(spins);
  }
  void record_end(Operation& operation, FlightRecorder::State state);
  Work start_on(const Result<Channel*>& channel, std::shared_ptr<Operation> operation);
  Result<void> group_call(Channel& channel, std::shared_ptr<Operation> operation);
  void enqueue(Channel& channel, const std::shared_ptr<Operation>& operation);
  void announce(const std::shared_ptr<Operation>& operation);
  std::optional<Error> look_around(Channel& channel, Operation& operation, Progress progress);
  Result<Channel*> pair_channel(std::uint32_t from, std::uint32_t to);
  Result<void> adopt_plan(Channel& channel, const Plan& plan, bool unverified);  // adopt.cpp

  // apart.cpp
  std::optional<Error> wrong_blocks(const Call& call, std::span<void* const> blocks) const;
  Result<Task> task_apart(const Call& call) const;
  std::shared_ptr<Operation> operation_apart(const Task& task) const;

  // symmetric.cpp; need the token
  bool may_be_symmetric() const { return main_->cache.source().one_process || parts_.family->symmetric().used(); }
  void leave_buffers(Channel& channel, const Operation& operation);
  bool has_buffers(const PlanKey& key) const;
  bool note_memory(Task& task);
  bool lies_alike(const PlanCache::Recent& recent, const Call& call) const;
  Error wrong_memory(const Task& task);
  std::optional<std::string> fault_of_memory(const void* buffer, std::uint64_t bytes) const;
  struct Places;
  Places places_of(const Task& task);

  // any_source.cpp; all but the first need the token
  std::optional<Error> wrong_any(const void* data, std::uint64_t count, DataType type) const;
  std::shared_ptr<Work::State> enqueue_any(void* data, std::uint64_t count, DataType type, std::uint32_t tag);
  bool match_any();
  bool is_receiving() const;
  Channel* next_sender();
  bool may_have_sent(std::uint32_t peer) const;
  bool has_message(const Channel& channel, std::uint32_t peer) const;
  std::uint32_t channel_from(std::uint32_t peer) const;
  std::optional<Error> look_for_senders(Operation& operation);
  std::optional<Error> all_left(std::uint32_t left, const std::string& what) const;
  bool has_left_unheard(std::uint32_t peer) const;
  std::optional<Error> find_lost_sender(const std::string& what);
  std::optional<Error> find_lost(const std::string& what, std::uint32_t& left);

  // replan.cpp; all but the first two need the token
  std::int64_t work_until_probe() const;
  double planned_latency_ns() const;
  void put_probe_first(Channel& channel);
  void put_probe_call(Channel& channel, const PlanKey& key, double latency_ns);
  void end_probe(Channel& channel, const Operation& ended);

  // groups.cpp
  void leave_group();
  void run_in_background();

  // coalesce.cpp; all but is_small need the token
  bool is_small(const PlanKey& key) const;
  bool is_coalesced(const Operation& operation) const;
  void extend_head(const Channel& channel);
  bool agree_on_batch(Channel& channel);
  void end_batch(Channel& channel, const Operation& ended);
  void end_members(Channel& channel, const Operation& ended);
  void put_first(Channel& channel, std::shared_ptr<Operation> operation);

  // progress.cpp; all but the last five need the token
  void end(Operation& operation, std::optional<Error> error);
  enum class Teller : std::uint8_t { caller, waiter, progress_thread };
  struct Telling;
  bool release_and_tell(Teller teller);
  void release_mid_call();
  bool pump(Channel& channel);
  bool pump_all();
  class Waiter;
  void step_down();
  void leave_tellings() const;
  void wake_progress();
  void progress_loop();
  std::optional<Error> need_progress_thread();

  // shrink.cpp
  void end_calls();
  bool is_in_call() const;
  void give_back_staging();
  Result<void> open_board();
  Result<CommunicatorParts> agree_on_survivors(Survivors& survivors, std::int64_t deadline_ns);
  void say(const Survivors& survivors);
  void tell_all(Survivors& survivors);
  void look_at_peers(Survivors& survivors);
  void hear_links(Survivors& survivors);
  bool counts_as_gone(std::uint32_t peer) const;
  std::optional<std::uint32_t> given_up_by() const;
  Result<CommunicatorParts> meet_survivors(Survivors& survivors, std::int64_t deadline_ns);
  Result<std::string> invite(const Survivors& survivors);
  Result<std::string> await_invitation(Survivors& survivors, std::int64_t deadline_ns);
  void leave_survivors();

  // failure.cpp; fail needs the token
  void fail(const Error& error);
  std::string record_title() const;
  void disown_buffers();
  Error broken_error();
  Error forked_error() const;
  Error passed_on(std::uint32_t peer, Errc code, const std::string& text) const;
  Error last_words(std::uint32_t peer) const;

  // check.cpp
  std::optional<Error> too_many_pieces(const Executable& executable, const BlockTable& blocks) const;

  // diagnose.cpp
  std::optional<Error> diagnose(Channel& channel, const Operation& operation);
  std::optional<Error> find_mismatch(const Channel& channel) const;
  Error disagreement(std::uint64_t call, const CallIdentity& own, std::uint32_t peer, const CallIdentity& theirs) const;
  Error explain_mismatch(const Channel& channel, const Operation& operation) const;
  Error corruption(const Channel& channel, const Operation& operation) const;
  Error refusal(const Channel& channel, const Operation& operation) const;
  std::optional<Error> find_lost_peer(const Channel& channel, const Operation& operation);
  Error blame(std::uint32_t peer, MemberState state, const std::string& call);
  std::string who(std::uint32_t peer) const;
  std::string who(const Channel& channel, std::uint32_t member) const { return who(channel.context.member(member)); }

  // waits.cpp
  std::string slowest(const Channel& channel, const Operation& operation) const;
  void note_waiting(const Channel& channel, const Operation& operation) const;
  void note_end_of_waiting() const;
  StatusLine& family_status(std::uint32_t rank) const;
  std::string condition(std::uint32_t peer) const;
  std::string waited_for(const Context& context, std::uint32_t member, std::uint64_t call) const;
  std::string elsewhere(std::uint32_t peer) const;

  // diagnose_links.cpp
  std::optional<Error> diagnose_links(const Channel& channel, const Operation& operation) const;
  void tend_lifelines() const;
  std::int64_t lost_for(std::uint32_t peer, std::int64_t now) const;
  bool has_gone(std::uint32_t peer, std::int64_t now) const;
  std::optional<Error> find_told_mismatch() const;
  std::optional<Error> find_message_mismatch(const Channel& channel, const Operation& operation) const;
  std::optional<Error> find_told_failure(const Channel& channel, const Operation& operation, std::int64_t patience_ns) const;
  void call_awaited(const Channel& channel, const Operation& operation) const;
  std::optional<Error> find_lost_link(const Channel& channel, const Operation& operation) const;
  std::string slowest_link(const Channel& channel, const Operation& operation) const;
  ToldCall own_call() const;
  void tell_failure(const Error& error);
  void tell_departure();

  CommunicatorParts parts_;
  const std::uint64_t born_in_ = fork_generation();  ///< a forked child must not use its parent's communicator
  std::atomic<std::int64_t> timeout_ns_;  ///< of calls from here on
  const std::uint64_t coalesce_below_;    ///< bytes; 0: nothing is coalesced
  QueueHead head_;                      ///< of main_'s queue, where calls are coalesced
  std::atomic<bool> draining_{false};   ///< no more calls come
  bool held_back_ = false;              ///< it waits for others to come; guarded by the token
  WaitPolicy policy_;
  const bool has_lifelines_ = parts_.lifelines != nullptr;
  std::unique_ptr<Channel> main_;
  bool replanned_ = false;       ///< for a distance that was probed since; guarded by the token
  SleepWord* const sleep_word_;  ///< of this rank; null where nobody would wake it
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<Channel>> pairs_;
  std::deque<std::shared_ptr<Operation>> from_any_;  ///< receives that no message was found for yet; their Works hold them too
  std::uint32_t served_last_ = 0;                    ///< the rank whose message was taken last by one of them
  SymmetricRoom::Known known_input_, known_output_;  ///< where those of the last call on symmetric memory lay
  Token token_;
  std::vector<std::function<void()>> ended_;         ///< what is to be told once the token has been given back; guarded by it
  FlightRecorder recorder_;
  std::unique_ptr<Tracer> tracer_;  ///< while calls are traced; guarded by the token

  std::mutex shrink_mutex_;  ///< held by the one thread that shrinks
  bool shrunk_ = false;      ///< and did; guarded by it
  std::unique_ptr<WordLinks> word_links_;  ///< of a rank that shrinks and doesn't share memory with all; guarded by the token

  std::atomic<bool> broken_{false};
  std::uint64_t culprit_ = 0;          ///< rank + 1 of the peer whose abort() ended this communicator; guarded by the token
  std::optional<Error> cause_;         ///< of broken_; guarded by cause_mutex_
  std::mutex cause_mutex_;

  std::atomic<std::uint32_t> pending_{0};  ///< queued operations
  std::atomic<std::uint32_t> waiters_{0};  ///< threads in wait()
  std::mutex progress_mutex_;
  std::condition_variable progress_wake_;
  std::atomic<bool> progress_rests_{true};  ///< a progress thread has to be woken
  std::atomic<bool> untold_{false};         ///< a progress thread is to tell what has ended
  // Guarded by progress_mutex_. One thread turns the crank; there are more where telling of ends waits for calls that were started there.
  std::vector<std::thread> progress_threads_;
  std::thread::id turning_;           ///< the one that does; none: none
  std::size_t threads_that_tell_ = 0;  ///< and have left the crank to another one
  bool stopping_ = false;

  bool left_ = false;  ///< of the thread that destroys the handle
};

}  // namespace rondo

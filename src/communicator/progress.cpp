// What runs queued calls: waiters and the progress thread turn the same crank.
#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

constexpr std::int64_t idle_poll_ns = 20'000;
constexpr std::int64_t held_nap_ns = 50'000;

}  // namespace

/// A queued operation has ended.
void Communicator::Impl::end(Operation& operation, std::optional<Error> error) {
  operation.error = std::move(error);
  if (operation.tell) ended_.push_back(std::exchange(operation.tell, nullptr));
  pending_.fetch_sub(1, std::memory_order_relaxed);
  operation.done.store(true, std::memory_order_release);
}

/// A thread that tells of ends. What hears it may start calls and wait for them in ways that the library knows nothing of, as futures' callbacks do: from the
/// first such call on somebody else turns the crank.
struct Communicator::Impl::Telling {
  Telling(Impl& impl, Teller who) : communicator(&impl), teller(who), outer(std::exchange(innermost, this)) {}
  ~Telling() { innermost = outer; }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  const Impl* communicator;
  Teller teller;
  bool stepped_down = false;
  bool left_behind = false;  ///< the communicator has ended meanwhile
  Telling* outer;
  static thread_local Telling* innermost;
};
thread_local Communicator::Impl::Telling* Communicator::Impl::Telling::innermost = nullptr;

/// Gives the token back, and says which calls have ended: whoever hears it may start others. False: the communicator is no more, because a progress
/// thread said it to one who ended it.
bool Communicator::Impl::release_and_tell(Teller teller) {
  if (ended_.empty()) {
    token_.release();
    return true;
  }
  const auto ended = std::exchange(ended_, {});
  untold_.store(false, std::memory_order_relaxed);
  token_.release();
  Telling telling(*this, teller);
  for (const auto& tell : ended) tell();
  if (telling.left_behind) return false;
  if (!telling.stepped_down) return true;
  if (teller == Teller::waiter) waiters_.fetch_add(1, std::memory_order_relaxed);
  if (teller == Teller::progress_thread) {
    const std::lock_guard lock(progress_mutex_);
    --threads_that_tell_;
  }
  return true;
}

/// The same in the middle of a caller's own call, which what hears it might wait behind: so a progress thread says it.
void Communicator::Impl::release_mid_call() {
  const auto has_thread = [this] {
    const std::lock_guard lock(progress_mutex_);
    return !progress_threads_.empty();
  };
  if (ended_.empty() || !has_thread()) {
    release_and_tell(Teller::caller);
    return;
  }
  untold_.store(true, std::memory_order_seq_cst);  // before wake_progress() looks whether that is needed
  token_.release();
  wake_progress();
}

/// Needs progress_mutex_. A thread that starts a call while it tells of ends leaves the crank to others.
void Communicator::Impl::step_down() {
  for (Telling* telling = Telling::innermost; telling != nullptr; telling = telling->outer) {
    if (telling->communicator != this || std::exchange(telling->stepped_down, true)) continue;
    if (telling->teller == Teller::waiter) waiters_.fetch_sub(1, std::memory_order_seq_cst);
    if (telling->teller != Teller::progress_thread) continue;
    ++threads_that_tell_;
    turning_ = {};
    progress_rests_.store(true, std::memory_order_seq_cst);
  }
}

/// The communicator ends while this thread tells of its calls.
void Communicator::Impl::leave_tellings() const {
  for (Telling* telling = Telling::innermost; telling != nullptr; telling = telling->outer)
    if (telling->communicator == this) telling->left_behind = true;
}

void Communicator::Impl::on_end(const Work::State& work, std::function<void()> tell) {
  if (born_in_ != fork_generation() && !work.operations.back()->done.load(std::memory_order_acquire)) return;  // here it never ends
  {
    const TokenGuard guard(token_);
    Operation& last = *work.operations.back();
    if (!last.done.load(std::memory_order_relaxed)) {
      last.tell = std::move(tell);
      return;
    }
  }
  tell();
}

/// Advances the first operations of a channel. True when something ended.
bool Communicator::Impl::pump(Channel& channel) {
  bool moved = false;
  if (channel.sync_waits) return moved;  // one call of a channel after the other
  while (!channel.queue.empty()) {
    if (coalesce_below_ != 0 && &channel == main_.get()) {
      held_back_ = is_coalesced(*channel.queue.front()) && !agree_on_batch(channel);
      if (held_back_) return moved;
    }
    const std::shared_ptr<Operation> operation = channel.queue.front();
    std::optional<Error> error;
    if (!operation->begun) {
      error = prepare(channel, *operation);
      if (!error && channel.until_probe <= 0 && operation->probed == nullptr) {
        put_probe_first(channel);
        continue;
      }
      if (!error) begin_recorded(channel, *operation);
    }
    if (!error) {
      const Progress progress = advance(channel, *operation, 1);
      if (progress != Progress::done) {
        auto found = look_around(channel, *operation, progress);
        if (!found) return moved;
        record_end(*operation, FlightRecorder::State::failed);  // first, since the record is printed
        fail(*found);
        leave_buffers(channel, *operation);
        error = broken_error();
      }
    }
    if (operation->begun) record_end(*operation, error ? FlightRecorder::State::failed : FlightRecorder::State::done);
    channel.queue.pop_front();
    if (operation->batch != nullptr || operation->probed != nullptr) operation->error = error;
    if (operation->batch != nullptr) end_batch(channel, *operation);
    if (operation->probed != nullptr) end_probe(channel, *operation);
    end(*operation, std::move(error));
    moved = true;
  }
  return moved;
}

bool Communicator::Impl::pump_all() {
  bool moved = !from_any_.empty() && match_any();
  moved |= pump(*main_);
  for (auto& [pair, channel] : pairs_) moved |= pump(*channel);
  return moved;
}

/// One thread more that waits, while it lives. It turns the crank, so the progress thread rests, and nothing is held back for others to come.
class Communicator::Impl::Waiter {
 public:
  explicit Waiter(Impl& impl) : impl_(impl) { impl_.waiters_.fetch_add(1, std::memory_order_relaxed); }
  ~Waiter() {
    // pairs with progress_loop(), which looks for waiters after it has said that it rests
    if (impl_.waiters_.fetch_sub(1, std::memory_order_seq_cst) == 1 && impl_.pending_.load(std::memory_order_seq_cst) != 0) impl_.wake_progress();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  Impl& impl_;
};

void Communicator::Impl::wake_progress() {
  if (!progress_rests_.load(std::memory_order_seq_cst)) return;
  const std::lock_guard lock(progress_mutex_);
  progress_wake_.notify_one();
}

/// Waits for a work's operations, helping. `deadline_ns` 0: as long as the operations' own deadlines allow.
Result<void> Communicator::Impl::wait(const Work::State& work, std::int64_t deadline_ns) {
  const auto all_done = [&] {
    return std::all_of(work.operations.begin(), work.operations.end(), [](const auto& operation) { return operation->done.load(std::memory_order_acquire); });
  };
  std::optional<Waiter> waiter;
  if (!all_done()) {
    if (born_in_ != fork_generation()) return forked_error();
    waiter.emplace(*this);
  }
  std::int64_t slow_since = 0;
  Sleep sleep(sleep_word_);
  for (std::uint64_t turn = 0; !all_done(); ++turn) {
    if (token_.try_acquire()) {
      if (pump_all()) slow_since = 0;  // others end, and this one's turn comes
      release_and_tell(Teller::waiter);
      if (turn < policy_.turns) continue;
    }
    const std::int64_t now = now_ns();
    if (slow_since == 0) slow_since = now;
    if (deadline_ns != 0 && now > deadline_ns) return Error{Errc::deadline_exceeded, "the call is still running", 0, "wait"};
    wait_a_turn(policy_, now - slow_since, sleep);
  }
  for (const auto& operation : work.operations)
    if (operation->error) return *operation->error;
  return {};
}

void Communicator::Impl::progress_loop() {
  pthread_setname_np(pthread_self(), "rondo-progress");
  std::int64_t idle_since = now_ns();
  Sleep sleep(sleep_word_);
  const std::thread::id own = std::this_thread::get_id();
  for (;;) {
    {
      std::unique_lock lock(progress_mutex_);
      const auto has_work = [this] {
        return untold_.load(std::memory_order_seq_cst) || (pending_.load(std::memory_order_seq_cst) != 0 && waiters_.load(std::memory_order_seq_cst) == 0);
      };
      const auto needed = [&] { return stopping_ || (turning_ == std::thread::id() && has_work()); };
      if (turning_ == own) turning_ = {};
      // pairs with announce() and ~Waiter(): who adds an operation or waits no more sees the word, or is seen here
      if (turning_ == std::thread::id()) progress_rests_.store(true, std::memory_order_seq_cst);
      if (!needed()) {
        sleep.end();
        progress_wake_.wait(lock, needed);
      }
      if (stopping_) return;
      turning_ = own;
      progress_rests_.store(false, std::memory_order_relaxed);
    }
    bool moved = false, held = false;
    if (token_.try_acquire()) {
      moved = pump_all();
      held = held_back_ && pending_.load(std::memory_order_relaxed) == main_->queue.size();
      if (!ended_.empty()) sleep.end();  // its word may be gone afterwards
      if (!release_and_tell(Teller::progress_thread)) return;
    }
    if (held && !moved) {  // nothing to look at until more come, which needs no haste
      nap(held_nap_ns);
      continue;
    }
    const std::int64_t now = now_ns();
    if (moved) {
      idle_since = now;
      sleep.end();
    }
    // A caller that waits turns the crank itself; this thread is for those that compute meanwhile.
    if (now - idle_since < idle_poll_ns) sched_yield();
    else sleep.turn(policy_.sleep_ns, policy_.blind_sleep_ns);
  }
}

/// The thread that runs started calls is made for the first of them, and another one where all tell of ends. A program without the right to one more thread
/// learns it here; nothing has begun then, and the communicator stays usable.
std::optional<Error> Communicator::Impl::need_progress_thread() {
  const std::lock_guard lock(progress_mutex_);
  step_down();
  if (progress_threads_.size() > threads_that_tell_) return std::nullopt;
  try {
    progress_threads_.emplace_back([this] { progress_loop(); });
  } catch (const std::system_error& refused) {
    return Error{Errc::out_of_resources, "a started call needs 1 more thread (limits: ulimit -u, the control group's pids.max)", refused.code().value(),
                 "rank " + std::to_string(rank())};
  }
  return std::nullopt;
}

}  // namespace rondo

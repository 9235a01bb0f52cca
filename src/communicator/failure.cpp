// How a communicator ends before its time: what this rank tells the others, and what it makes of what they told.
#include <algorithm>

#include "base/log.hpp"
#include "communicator/impl.hpp"
#include "communicator/last_words.hpp"

namespace rondo {

/// The communicator is over: peers are told, everything queued gets the same error.
void Communicator::Impl::fail(const Error& error) {
  disown_buffers();  // first: another thread's abort() may have set the cause and not come further, and this rank's user gets that error
  {
    const std::lock_guard lock(cause_mutex_);
    if (cause_) return;
    cause_ = error;
    if (cause_->where.empty()) cause_->where = "rank " + std::to_string(rank());
  }
  broken_.store(true, std::memory_order_release);
  const MemberState state = error.code == Errc::aborted ? MemberState::aborted : MemberState::failed;
  StatusLine& status = main_->context.status(rank());
  status.culprit.store(culprit_, std::memory_order_relaxed);
  leave_last_words(*parts_.transport, rank(), status, error);  // over message links tell_failure() says it
  // pairs with find_lost_peer(): acquire of state sees the culprit, the last words, and the records that explain them
  status.state.store(static_cast<std::uint64_t>(state), std::memory_order_release);
  tell_failure(error);
  log_error("rank " + std::to_string(rank()) + ": " + to_string(error) + "\n" + record_title() + "failed\n" + recorder_.print());
}

/// From here on this rank's user may change buffers that peers are still reading: what they read counts no more.
void Communicator::Impl::disown_buffers() {
  // pairs with Run::attach() where peers are threads of this process
  main_->context.lane(rank(), 0).broken.store(1, std::memory_order_seq_cst);
  // pairs with Run::confirmed(): whoever sees what is written after this sees the word
  std::atomic_thread_fence(std::memory_order_release);
}

Error Communicator::Impl::forked_error() const {
  return Error{Errc::invalid_argument,
               "this process was forked after the communicator was made; a child must make its own", 0,
               "rank " + std::to_string(rank())};
}

Error Communicator::Impl::broken_error() {
  const std::lock_guard lock(cause_mutex_);
  return *cause_;
}

void Communicator::Impl::abort() {
  if (born_in_ != fork_generation()) return;  // the parent's goes on
  const Error error{Errc::aborted, "abort() was called", 0, "rank " + std::to_string(rank())};
  bool first = false;
  {
    const std::lock_guard lock(cause_mutex_);
    first = !cause_;
    if (first) cause_ = error;
  }
  disown_buffers();
  const auto aborted = static_cast<std::uint64_t>(MemberState::aborted);
  main_->context.status(rank()).state.store(aborted, std::memory_order_release);
  broken_.store(true, std::memory_order_release);  // pairs with diagnose(): read by whoever waits
  if (!first || !parts_.status_links) return;
  const TokenGuard guard(token_);  // whoever holds it waits, sees the abort and gives it back
  tell_failure(Error{Errc::aborted, who(rank()) + " called abort()"});
}

/// What a failed peer said, as this rank's error: the first cause goes round, and so names whom it is about.
Error Communicator::Impl::passed_on(std::uint32_t peer, Errc code, const std::string& text) const {
  const std::string where = "rank " + std::to_string(rank());
  if (code == Errc::aborted || code == Errc::mismatch || code == Errc::peer_failed) return Error{code, text, 0, where};
  return Error{Errc::peer_failed, who(peer) + " failed: " + text, 0, where};
}

/// Needs a peer whose state says `failed`: that publishes them. A peer's numbers are not to be trusted.
Error Communicator::Impl::last_words(std::uint32_t peer) const {
  const std::uint64_t failure = main_->context.status(peer).failure.load(std::memory_order_relaxed);
  if (failure == 0) return passed_on(peer, Errc::out_of_resources, "it had no memory to say why");
  const std::uint64_t length = std::min(failure & 0xffffffff, last_words_bytes);
  const std::uint64_t code = std::min(failure >> 32, static_cast<std::uint64_t>(Errc::corrupted));
  const std::byte* text = parts_.transport->segment(peer) + parts_.transport->segment_bytes() - last_words_bytes;
  return passed_on(peer, static_cast<Errc>(code), std::string(reinterpret_cast<const char*>(text), length));
}

/// The first line of a flight record, but for its state: read_records() finds it among other lines.
std::string Communicator::Impl::record_title() const {
  return "last operations of rank " + std::to_string(rank()) + " of " + std::to_string(size()) + " (" + parts_.peers[rank()] + "), communicator " +
         parts_.token + "; ";
}

std::string Communicator::Impl::flight_record() {
  if (born_in_ != fork_generation()) return record_title() + "forked since, and not known here\n";
  const TokenGuard guard(token_);
  std::string state = "not failed";
  {
    const std::lock_guard lock(cause_mutex_);
    if (cause_) state = "failed: " + to_string(*cause_);
  }
  return record_title() + state + "\n" + recorder_.print();
}

}  // namespace rondo

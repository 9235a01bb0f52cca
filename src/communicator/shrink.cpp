// Going on without the ranks that have gone, and with ranks that come. Design: docs/design/0015-shrink.md.
#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "communicator/create.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

constexpr std::int64_t look_interval_ns = 100'000;

std::string list_of(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const std::uint32_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

}  // namespace

Result<CommunicatorParts> Communicator::Impl::shrink() {
  const std::string where = "rank " + std::to_string(rank());
  if (born_in_ != fork_generation()) return forked_error();
  if (in_group()) return Error{Errc::invalid_argument, "shrink between group_begin and group_end: it can't be collected", 0, where};
  if (parts_.reach() != Reach::memory) return Error{Errc::unsupported, "ranks of several hosts can't shrink their communicator", 0, where};
  const std::unique_lock lock(shrink_mutex_, std::try_to_lock);
  if (!lock) return Error{Errc::invalid_argument, "another thread shrinks this communicator", 0, where};
  if (shrunk_) return Error{Errc::invalid_argument, "this communicator was shrunk before", 0, where};
  const std::int64_t deadline_ns = deadline_after(parts_.options.bootstrap_timeout);
  end_calls();
  const SharedWord& word = main_->context.sleep_line(rank()).survivors;
  Survivors survivors(rank(), size(), SurvivorWord::of(word.load(std::memory_order_relaxed)).attempt + 1);
  auto parts = agree_on_survivors(survivors, deadline_ns);
  shrunk_ = parts.has_value();
  if (!parts) log_error(where + ": " + to_string(parts.error()));
  return parts;
}

/// From here on no call of this rank touches a peer's memory, whatever thread made it.
void Communicator::Impl::end_calls() {
  const TokenGuard guard(token_);
  if (!broken_.load(std::memory_order_relaxed)) fail(Error{Errc::peer_failed, who(rank()) + " called shrink()"});
  while (is_in_call()) {
    token_.release();
    nap(look_interval_ns);
    token_.acquire();
    pump_all();
  }
}

bool Communicator::Impl::is_in_call() const {
  return is_busy(*main_) || std::any_of(pairs_.begin(), pairs_.end(), [](const auto& pair) { return is_busy(*pair.second); });
}

/// When all that are left have ended their calls the slots are of no use to anybody: the new communicator takes their share.
void Communicator::Impl::give_back_staging() {
  parts_.transport->give_back(parts_.layout.staging(0), 2 * parts_.layout.half_bytes);
  parts_.share.shrink(parts_.layout.control_bytes());
}

/// Publishes what the agreement says and does what it asks for until it has ended.
Result<CommunicatorParts> Communicator::Impl::agree_on_survivors(Survivors& survivors, std::int64_t deadline_ns) {
  SharedWord& word = main_->context.sleep_line(rank()).survivors;
  std::optional<CommunicatorParts> made;
  std::optional<Error> failure;
  for (;;) {
    // pairs with look_at(): whoever sees that this rank has entered knows that its calls have ended
    word.store(survivors.word(), std::memory_order_release);
    switch (survivors.state()) {
      case Survivors::State::going_on:
        return std::move(*made);
      case Survivors::State::given_up:
        if (failure) return *failure;
        return Error{Errc::peer_failed, who(survivors.refuser().value_or(rank())) + " gave up shrinking the communicator", 0, "rank " + std::to_string(rank())};
      case Survivors::State::meeting: {
        give_back_staging();
        auto met = meet_survivors(survivors, deadline_ns);
        if (met) {
          made.emplace(std::move(*met));
          survivors.met();
          break;
        }
        failure = met.error();
        // Another rank's failure may be its death, and then those that are left try again.
        if (failure->code == Errc::peer_failed) survivors.lost();
        else survivors.refuse();
        break;
      }
      case Survivors::State::gathering:
      case Survivors::State::voting:
        for (std::uint32_t peer = 0; peer < size(); ++peer) look_at(survivors, peer);
        if (const std::string missing = survivors.missing(); !missing.empty()) {
          if (now_ns() > deadline_ns) {
            failure = Error{Errc::deadline_exceeded, "no sign of rank " + missing + " in shrink()", 0, "rank " + std::to_string(rank())};
            if (survivors.state() == Survivors::State::voting) return *failure;
            survivors.refuse();
          }
          nap(look_interval_ns);
        }
    }
  }
}

void Communicator::Impl::look_at(Survivors& survivors, std::uint32_t peer) const {
  if (peer == rank()) return;
  const bool gone = parts_.transport->gone(peer);  // first: then the word is the peer's last
  // pairs with agree_on_survivors() and leave_survivors()
  survivors.saw(peer, main_->context.sleep_line(peer).survivors.load(std::memory_order_acquire), gone);
}

/// Those that entered make a communicator as processes do that find one another by a job's name.
Result<CommunicatorParts> Communicator::Impl::meet_survivors(Survivors& survivors, std::int64_t deadline_ns) {
  const std::vector<std::uint32_t> members = survivors.members();
  const auto count = static_cast<std::uint32_t>(members.size());
  const auto own = static_cast<std::uint32_t>(std::find(members.begin(), members.end(), rank()) - members.begin());
  const auto stays_away = [&](std::uint32_t member) {
    look_at(survivors, members[member]);
    return survivors.stays_away(members[member]);
  };
  const auto join_them = [&]() -> Result<CommunicatorParts> {
    auto bootstrap = make_local_bootstrap(own, count, "shrink " + parts_.token + " " + std::to_string(survivors.attempt()), deadline_ns, stays_away);
    if (!bootstrap) return bootstrap.error();
    auto view = discover_topology();
    if (!view) return view.error();
    CommunicatorOptions options = parts_.options;
    options.timeout = std::chrono::nanoseconds(timeout_ns_.load(std::memory_order_relaxed));
    const bool all_here = parts_.ranks_here >= size();
    return join(**bootstrap, own, count, options, std::move(*view), all_here ? count : 1);
  };
  auto parts = join_them();
  if (!parts) parts.error().detail = "while ranks " + list_of(members) + " made a communicator, numbered from 0: " + parts.error().detail;
  return parts;
}

/// Peers that shrink need not wait for this rank.
void Communicator::Impl::leave_survivors() {
  SharedWord& word = main_->context.sleep_line(rank()).survivors;
  SurvivorWord last = SurvivorWord::of(word.load(std::memory_order_relaxed));
  last.left = true;
  word.store(last.bits(), std::memory_order_release);  // pairs with look_at()
}

Result<CommunicatorParts> Communicator::Impl::grow(std::uint32_t to, const std::string& job) {
  const std::string where = "rank " + std::to_string(rank());
  if (born_in_ != fork_generation()) return forked_error();
  if (to <= size())
    return Error{Errc::invalid_argument, "grow to " + std::to_string(to) + " ranks; accepted: more than the " + std::to_string(size()) + " that there are", 0,
                 where};
  const auto stays_away = [&](std::uint32_t peer) { return peer < size() && peer != rank() && parts_.transport->gone(peer); };
  auto bootstrap = make_local_bootstrap(rank(), to, job, deadline_after(parts_.options.bootstrap_timeout), stays_away);
  if (!bootstrap) return bootstrap.error();
  auto view = discover_topology();
  if (!view) return view.error();
  return join(**bootstrap, rank(), to, parts_.options, std::move(*view), 1);
}

}  // namespace rondo

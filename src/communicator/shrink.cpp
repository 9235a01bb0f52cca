// Going on without the ranks that have gone, and with ranks that come. Design: docs/design/0015-shrink.md.
#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "bootstrap/unique_id.hpp"
#include "communicator/create.hpp"
#include "communicator/impl.hpp"
#include "communicator/layouts.hpp"
#include "communicator/meet.hpp"

namespace rondo {
namespace {

constexpr std::int64_t look_interval_ns = 100'000;
constexpr std::int64_t telling_ns = 100'000'000;  // for what a link that is full is to take

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
  const std::unique_lock lock(shrink_mutex_, std::try_to_lock);
  if (!lock) return Error{Errc::invalid_argument, "another thread shrinks this communicator", 0, where};
  if (shrunk_) return Error{Errc::invalid_argument, "this communicator was shrunk before", 0, where};
  const std::int64_t deadline_ns = deadline_after(parts_.options.bootstrap_timeout);
  end_calls();
  if (auto opened = open_board(); !opened) return opened.error();
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

/// What ranks that don't all share memory need to hear one another.
Result<void> Communicator::Impl::open_board() {
  if (parts_.reach() == Reach::memory || word_links_) return {};
  const std::uint64_t board = board_offset(parts_.layout, parts_.pair_layout, size());
  if (parts_.has_segments())
    if (auto memory = parts_.transport->commit(board, board_bytes(size())); !memory) return memory.error();
  word_links_ = std::make_unique<WordLinks>(main_->context, *parts_.transport, board);
  return {};
}

/// When all that are left have ended their calls the slots are of no use to anybody: the new communicator takes their share.
void Communicator::Impl::give_back_staging() {
  if (!parts_.has_segments()) return;
  parts_.transport->give_back(parts_.layout.staging(0), 2 * parts_.layout.half_bytes);
  parts_.share.shrink(parts_.layout.control_bytes());
}

/// Publishes what the agreement says and does what it asks for until it has ended.
Result<CommunicatorParts> Communicator::Impl::agree_on_survivors(Survivors& survivors, std::int64_t deadline_ns) {
  std::optional<CommunicatorParts> made;
  std::optional<Error> failure;
  for (;;) {
    say(survivors);
    switch (survivors.state()) {
      case Survivors::State::going_on:
        tell_all(survivors);
        return std::move(*made);
      case Survivors::State::given_up:
        tell_all(survivors);
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
        look_at_peers(survivors);
        if (const auto by = given_up_by()) {
          leave_survivors();
          return Error{Errc::peer_failed, who(*by) + " can't reach this rank any more, and the others go on without it", 0, "rank " + std::to_string(rank())};
        }
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

/// From here on others may know it: whoever sees that this rank has entered knows that its calls have ended.
void Communicator::Impl::say(const Survivors& survivors) {
  if (!word_links_) return main_->context.sleep_line(rank()).survivors.store(survivors.word(), std::memory_order_release);  // pairs with look_at_peers()
  const TokenGuard guard(token_);
  word_links_->say(survivors.word());
}

/// A link that was full takes what this rank said last before it goes its way.
void Communicator::Impl::tell_all(Survivors& survivors) {
  const std::int64_t deadline_ns = now_ns() + telling_ns;
  while (word_links_ && !word_links_->has_told_all() && now_ns() < deadline_ns) {
    hear_links(survivors);
    nap(look_interval_ns);
  }
}

void Communicator::Impl::look_at_peers(Survivors& survivors) {
  if (word_links_) return hear_links(survivors);
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const bool gone = parts_.transport->gone(peer);  // first: then the word is the peer's last
    // pairs with say() and leave_survivors()
    survivors.saw(peer, main_->context.sleep_line(peer).survivors.load(std::memory_order_acquire), gone);
  }
}

void Communicator::Impl::hear_links(Survivors& survivors) {
  const TokenGuard guard(token_);
  parts_.status_links->take_in();
  if (has_lifelines_) tend_lifelines();
  std::vector<bool> gone(size());
  const std::int64_t now = now_ns();
  for (std::uint32_t peer = 0; peer < size(); ++peer) gone[peer] = peer != rank() && has_gone(peer, now);
  word_links_->turn(gone);
  const Hearsay& known = word_links_->known();
  for (std::uint32_t peer = 0; peer < size(); ++peer) survivors.saw(peer, known.word(peer), known.is_last(peer));
}

/// Whether waiting for this peer is in vain, though others may not know it yet.
bool Communicator::Impl::counts_as_gone(std::uint32_t peer) const { return word_links_ && (word_links_->known().has_gone(peer) || given_up_by()); }

std::optional<std::uint32_t> Communicator::Impl::given_up_by() const { return word_links_ ? word_links_->known().given_up_by() : std::nullopt; }

/// Those that entered make a communicator as processes do that find one another by a job's name.
Result<CommunicatorParts> Communicator::Impl::meet_survivors(Survivors& survivors, std::int64_t deadline_ns) {
  const std::vector<std::uint32_t> members = survivors.members();
  const auto count = static_cast<std::uint32_t>(members.size());
  const auto own = static_cast<std::uint32_t>(std::find(members.begin(), members.end(), rank()) - members.begin());
  const auto stays_away = [&](std::uint32_t member) {
    look_at_peers(survivors);
    return survivors.stays_away(members[member]) || counts_as_gone(members[member]);
  };
  const auto share_memory = [&](std::uint32_t member) { return parts_.shares_memory_with(member); };
  const auto find_them = [&]() -> Result<std::unique_ptr<Bootstrap>> {
    if (std::all_of(members.begin(), members.end(), share_memory))
      return make_local_bootstrap(own, count, "shrink " + parts_.token + " " + std::to_string(survivors.attempt()), deadline_ns, stays_away);
    const auto id = own == 0 ? invite(survivors) : await_invitation(survivors, deadline_ns);
    return id ? meet_by_id(own, count, *id, deadline_ns, stays_away, Given::by_ranks) : Result<std::unique_ptr<Bootstrap>>(id.error());
  };
  const auto join_them = [&]() -> Result<CommunicatorParts> {
    auto bootstrap = find_them();
    if (!bootstrap) return bootstrap.error();
    auto view = discover_topology();
    if (!view) return view.error();
    CommunicatorOptions options = parts_.options;
    options.timeout = std::chrono::nanoseconds(timeout_ns_.load(std::memory_order_relaxed));
    const bool all_here = parts_.ranks_here >= size();
    return join(**bootstrap, own, count, options, *view, all_here ? count : 1);
  };
  auto parts = join_them();
  if (parts) parts->parent_ranks = members;
  else parts.error().detail = "while ranks " + list_of(members) + " made a communicator, numbered from 0: " + parts.error().detail;
  return parts;
}

/// Of members on several hosts the first says where they meet.
Result<std::string> Communicator::Impl::invite(const Survivors& survivors) {
  auto id = make_unique_id(parts_.addresses.front());
  const TokenGuard guard(token_);
  word_links_->invite(survivors.attempt(), id ? *id : no_unique_id);
  return id;
}

Result<std::string> Communicator::Impl::await_invitation(Survivors& survivors, std::int64_t deadline_ns) {
  const std::uint32_t first = survivors.members().front();
  const std::string where = "rank " + std::to_string(rank());
  for (;;) {
    look_at_peers(survivors);
    const std::string id = word_links_->invitation(first, survivors.attempt());
    if (id == no_unique_id) return Error{Errc::peer_failed, who(first) + " can't listen for the others; its own error says why", 0, where};
    if (!id.empty()) return id;
    if (survivors.stays_away(first) || counts_as_gone(first)) return Error{Errc::peer_failed, who(first) + " has gone before it said where to meet", 0, where};
    if (now_ns() > deadline_ns) return Error{Errc::deadline_exceeded, who(first) + " didn't say where to meet", 0, where};
    nap(look_interval_ns);
  }
}

/// Peers that shrink need not wait for this rank.
void Communicator::Impl::leave_survivors() {
  SharedWord& word = main_->context.sleep_line(rank()).survivors;
  SurvivorWord last = SurvivorWord::of(word.load(std::memory_order_relaxed));
  last.left = true;
  if (!word_links_) return word.store(last.bits(), std::memory_order_release);  // pairs with look_at_peers(), and with WordLinks::read_board()
  const TokenGuard guard(token_);
  word_links_->say(last.bits());
}

Result<CommunicatorParts> Communicator::Impl::grow(std::uint32_t to, const std::string& job) {
  const std::string where = "rank " + std::to_string(rank());
  if (born_in_ != fork_generation()) return forked_error();
  if (to <= size())
    return Error{Errc::invalid_argument, "grow to " + std::to_string(to) + " ranks; accepted: more than the " + std::to_string(size()) + " that there are", 0,
                 where};
  const auto stays_away = [&](std::uint32_t peer) { return peer < size() && peer != rank() && parts_.transport->gone(peer); };
  const std::int64_t deadline_ns = deadline_after(parts_.options.bootstrap_timeout);
  const bool is_id = place_of_unique_id(job).has_value();
  if (!is_id && parts_.reach() != Reach::memory)
    return Error{Errc::invalid_argument, "'" + job + "' is no unique id; accepted where ranks are on several hosts: one of rank 0's (unique_id())", 0, where};
  auto bootstrap = is_id ? meet_by_id(rank(), to, job, deadline_ns, stays_away) : make_local_bootstrap(rank(), to, job, deadline_ns, stays_away);
  if (!bootstrap) return bootstrap.error();
  auto view = discover_topology();
  if (!view) return view.error();
  return join(**bootstrap, rank(), to, parts_.options, *view, 1);
}

}  // namespace rondo

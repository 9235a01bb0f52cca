// Why a wait over message links doesn't end: what the peers have said of themselves, and what their messages say.
#include "base/clock.hpp"
#include "bootstrap/lifelines.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

/// How long a wait lasts before this rank says which call it waits in: an ordinary wait costs no message.
constexpr std::int64_t tell_after_ns = 100'000'000;
/// How long the messages of a rank that has said that it leaves may still be under way.
constexpr std::int64_t last_words_ns = 200'000'000;
/// How long a rank that is lost, and perhaps had done its part, is no reason for others' calls not to end.
constexpr std::int64_t lost_to_others_ns = 400'000'000;

}  // namespace

std::optional<Error> Communicator::Impl::diagnose_links(const Channel& channel, const Operation& operation) const {
  parts_.status_links->take_in();
  if (has_lifelines_) tend_lifelines();
  if (auto error = find_told_mismatch()) return error;
  if (auto error = find_told_failure(channel, operation, last_words_ns)) return error;
  if (auto error = find_lost_link(channel, operation)) {
    auto cause = find_told_failure(channel, operation, 0);  // what is still under way can't save this call any more
    return cause ? cause : error;
  }
  if (now_ns() - operation.started_ns < tell_after_ns) return std::nullopt;
  call_awaited(channel, operation);
  if (&channel == main_.get()) parts_.status_links->tell_waiting(own_call());
  return std::nullopt;
}

/// Whom this rank waits for it is connected with from now on, so that it learns of their end.
void Communicator::Impl::call_awaited(const Channel& channel, const Operation& operation) const {
  const Context& context = channel.context;
  for (std::uint32_t member = 0; member < context.size(); ++member)
    if (member != context.rank() && operation.run.waits_for(member)) parts_.transport->call(context.member(member));
}

/// The collective that this rank is in, or was in last.
ToldCall Communicator::Impl::own_call() const {
  const std::uint64_t call = main_->context.call;
  const auto identity = recorder_.collective(call);
  return identity ? ToldCall{call, *identity} : ToldCall{};
}

/// Compares the calls that peers say they wait in with this rank's of the same number, which may be long over here.
std::optional<Error> Communicator::Impl::find_told_mismatch() const {
  for (const std::uint32_t peer : parts_.status_links->peers()) {
    const ToldCall& theirs = parts_.status_links->of(peer).call;
    if (theirs.sequence == 0) continue;
    const auto own = recorder_.collective(theirs.sequence);
    if (own && own->digest() != theirs.identity.digest()) return disagreement(theirs.sequence, *own, peer, theirs.identity);
  }
  return std::nullopt;
}

/// A message of another call than the one it was expected in: its header says of which.
std::optional<Error> Communicator::Impl::find_message_mismatch(const Channel& channel, const Operation& operation) const {
  const ToldCall theirs = operation.run.disagreeing_call();
  if (theirs.sequence == 0) return std::nullopt;  // no message tells
  std::optional<CallIdentity> own;
  if (theirs.sequence == operation.run.call()) own = operation.prepared->identity;
  else if (&channel == main_.get()) own = recorder_.collective(theirs.sequence);
  if (!own || own->digest() == theirs.identity.digest()) return std::nullopt;
  return disagreement(theirs.sequence, *own, channel.context.member(operation.run.disagreeing_rank()), theirs.identity);
}

/// Whoever fails takes all others along, whatever they wait for; but one that failed in a later call has done its part of this
/// one, and what it sent for it may still be under way, for `patience_ns`. The first cause goes round, and so names whom it is about.
std::optional<Error> Communicator::Impl::find_told_failure(const Channel& channel, const Operation& operation, std::int64_t patience_ns) const {
  for (const std::uint32_t peer : parts_.status_links->peers()) {
    const Notice& notice = parts_.status_links->of(peer);
    if (notice.kind != Notice::Kind::failed) continue;
    const bool past = &channel == main_.get() && notice.call.sequence > operation.run.call();
    if (past && notice.code != Errc::aborted && now_ns() - notice.heard_ns < patience_ns) continue;
    return passed_on(peer, notice.code, notice.text);
  }
  return std::nullopt;
}

/// A peer that can't finish this call any more. Of a pair's calls a peer that leaves doesn't tell, and one that dies tells
/// nothing: they may have done their part, so that only a wait for them can't end.
std::optional<Error> Communicator::Impl::find_lost_link(const Channel& channel, const Operation& operation) const {
  const Context& context = channel.context;
  const std::string call = title(operation);
  const std::string where = "rank " + std::to_string(rank());
  const std::int64_t now = now_ns();
  for (std::uint32_t member = 0; member < context.size(); ++member) {
    if (member == context.rank()) continue;
    const Notice& notice = parts_.status_links->of(context.member(member));
    const bool left = notice.kind == Notice::Kind::left;
    if (left && &channel == main_.get() && notice.finished < operation.run.call())
      return Error{Errc::peer_failed, who(channel, member) + " left the communicator before " + call, 0, where};
    if (!operation.run.waits_for(member)) continue;
    if (left && now - notice.heard_ns > last_words_ns)
      return Error{Errc::peer_failed, who(channel, member) + " left the communicator before " + call, 0, where};
    const auto refusal = parts_.transport->refusal(context.member(member));
    if (refusal && refusal->code == Errc::out_of_resources) return refusal;
    if (refusal && parts_.transport->gone(context.member(member))) {
      // It may have left because of what the others are about to say.
      if (now - operation.started_ns < last_words_ns) continue;
      return Error{Errc::peer_failed, who(channel, member) + " died or left before " + call + ", or is cut off: " + refusal->detail, refusal->native, where};
    }
    if (parts_.transport->gone(context.member(member)))
      return Error{Errc::peer_failed, who(channel, member) + " died or left during " + call, 0, where};
    if (lost_for(context.member(member), now) > last_words_ns)
      return Error{Errc::peer_failed, who(channel, member) + " died, left or can't be reached any more, during " + call, 0, where};
  }
  // Somebody that this rank waits for may wait for one that is lost, without a line to it.
  for (std::uint32_t member = 0; member < context.size() && &channel == main_.get(); ++member)
    if (member != context.rank() && lost_for(member, now) > lost_to_others_ns)
      return Error{Errc::peer_failed, who(channel, member) + " died, or can't be reached any more, before or during " + call, 0, where};
  return std::nullopt;
}

void Communicator::Impl::tend_lifelines() const { parts_.lifelines->turn(now_ns()); }

/// How long a peer's lifeline has been at its end; 0: it isn't, or there is none.
std::int64_t Communicator::Impl::lost_for(std::uint32_t peer, std::int64_t now) const {
  if (!parts_.lifelines) return 0;
  const std::int64_t since = parts_.lifelines->lost_since(parts_.lifeline_ranks[peer]);
  return since == 0 ? 0 : now - since;
}

/// Whether all has come that this peer had to say.
bool Communicator::Impl::has_gone(std::uint32_t peer, std::int64_t now) const {
  if (parts_.transport->gone(peer) || lost_for(peer, now) > last_words_ns) return true;
  const Notice& notice = parts_.status_links->of(peer);
  return notice.kind == Notice::Kind::left && now - notice.heard_ns > last_words_ns;
}

/// Ranks in a collective that waits long have said so by now; who has not is elsewhere. Of ranks of other hosts; empty: none is.
std::string Communicator::Impl::slowest_link(const Channel& channel, const Operation& operation) const {
  const Context& context = channel.context;
  std::string text;
  for (std::uint32_t member = 0; member < context.size(); ++member) {
    if (member == context.rank() || context.mapped(member)) continue;
    if (!parts_.transport->connected(context.member(member))) continue;  // one of many that have nothing to say to this rank
    const bool told = parts_.status_links->of(context.member(member)).call.sequence >= operation.run.call();
    if (&channel == main_.get() ? told : !operation.run.waits_for(member)) continue;
    text += (text.empty() ? "" : ", ") + who(channel, member);
  }
  return text.empty() ? text : text + " has not entered it, or is past it";
}

void Communicator::Impl::tell_failure(const Error& error) {
  if (!parts_.status_links) return;
  Notice notice;
  notice.kind = Notice::Kind::failed;
  notice.code = error.code;
  notice.text = error.detail;
  notice.call = own_call();
  parts_.status_links->tell(notice);
}

void Communicator::Impl::tell_departure() {
  if (!parts_.status_links) return;
  parts_.status_links->take_in();  // whoever left before needn't be told
  parts_.transport->leave();
  Notice notice;
  notice.kind = Notice::Kind::left;
  notice.call = own_call();
  // pairs with Run::finish()
  notice.finished = main_->context.status(rank()).done.load(std::memory_order_acquire);
  parts_.status_links->tell(notice);
}

}  // namespace rondo

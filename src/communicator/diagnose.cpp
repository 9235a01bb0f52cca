// Why a wait doesn't end: disagreement, a lost peer, an abort. Looked at only after the spin budget.
#include "communicator/impl.hpp"
#include "communicator/told.hpp"

namespace rondo {

std::string title(const Operation& operation) {
  const char* const end = operation.probed != nullptr ? ", which a probe makes before the next call)" : ")";
  return describe(operation.prepared->identity) + " (#" + std::to_string(operation.run.call()) + end;
}

std::optional<Error> Communicator::Impl::diagnose(Channel& channel, const Operation& operation) {
  if (broken_.load(std::memory_order_acquire)) return broken_error();  // by abort(), or by another thread's call
  if (parts_.status_links)
    if (auto error = diagnose_links(channel, operation)) return error;
  if (!parts_.has_segments()) return std::nullopt;
  if (auto error = find_mismatch(channel)) return error;
  return find_lost_peer(channel, operation);
}

/// Compares this rank's calls with what the peers say they are in: the current one and the one before (a rank that left a
/// mismatched call early finds out in its next one).
std::optional<Error> Communicator::Impl::find_mismatch(const Channel& channel) const {
  const Context& context = channel.context;
  for (std::uint64_t parity = 0; parity < 2; ++parity) {
    const SeenRecord own = read_record(context.record(context.rank(), parity));
    if (own.sequence == 0) continue;
    for (std::uint32_t member = 0; member < context.size(); ++member) {
      if (member == context.rank() || !context.mapped(member)) continue;
      const SeenRecord theirs = read_record(context.record(member, parity));
      if (theirs.sequence != own.sequence || theirs.digest == own.digest) continue;
      if (own.identity.symmetric || theirs.identity.symmetric) continue;  // then that rank will find it, and begin again (Run::must_withdraw)
      return disagreement(own.sequence, own.identity, context.member(member), theirs.identity);
    }
  }
  return std::nullopt;
}

Error Communicator::Impl::disagreement(std::uint64_t call, const CallIdentity& own, std::uint32_t peer, const CallIdentity& theirs) const {
  const std::string why = describe(own) == describe(theirs) ? " (with different plans, or put together from other calls)" : "";
  return Error{Errc::mismatch,
               "ranks disagree in call #" + std::to_string(call) + ": rank " + std::to_string(rank()) + " called " +
                   describe(own) + ", rank " + std::to_string(peer) + " called " + describe(theirs) + why,
               0, "rank " + std::to_string(rank())};
}

/// A flag with another history: the records say who called what, unless the disagreement is older than they are.
Error Communicator::Impl::explain_mismatch(const Channel& channel, const Operation& operation) const {
  if (operation.run.block_disagrees()) {
    const std::uint32_t sender = operation.run.disagreeing_rank();
    return Error{Errc::mismatch,
                 "ranks disagree in call #" + std::to_string(operation.run.call()) + ", " + describe(operation.prepared->identity) + ": rank " +
                     std::to_string(channel.context.member(sender)) + " sends " + std::to_string(operation.run.sent_bytes()) + " bytes to rank " +
                     std::to_string(rank()) + ", which expects " + std::to_string(operation.task.binding.blocks->received[sender].bytes),
                 0, "rank " + std::to_string(rank())};
  }
  if (operation.run.corruption().found) return corruption(channel, operation);
  if (operation.run.refusal().reason != 0) return refusal(channel, operation);
  if (auto found = find_message_mismatch(channel, operation)) return *found;
  if (auto found = find_mismatch(channel)) return *found;
  return Error{Errc::mismatch,
               "ranks disagree: rank " + std::to_string(rank()) + " is in call #" + std::to_string(operation.run.call()) + ", " +
                   describe(operation.prepared->identity) + "; " + who(channel, operation.run.disagreeing_rank()) +
                   " made another call here or earlier",
               0, "rank " + std::to_string(rank())};
}

/// What a rank wrote is not what this one read.
Error Communicator::Impl::corruption(const Channel& channel, const Operation& operation) const {
  const Corruption& found = operation.run.corruption();
  const bool known = found.writer < channel.context.size();
  std::string what = known ? "what " + who(channel, static_cast<std::uint32_t>(found.writer)) + " wrote for rank " : "what was written for rank ";
  what += std::to_string(rank()) + " changed on the way: piece " + std::to_string(found.piece);
  if (operation.run.corruption().in_message) what += " of channel " + std::to_string(found.index);
  else what += " of chunk " + std::to_string(found.index) + " in the slots of rank " + std::to_string(channel.context.member(found.owner));
  return Error{Errc::corrupted, what + ", in " + title(operation), 0, "rank " + std::to_string(rank())};
}

/// A peer told of a buffer that its process doesn't have, or may no longer be looked into; or this rank's own is no memory.
Error Communicator::Impl::refusal(const Channel& channel, const Operation& operation) const {
  const Refusal& refusal = operation.run.refusal();
  const std::string call = title(operation);
  const std::string where = "rank " + std::to_string(rank());
  if (refusal.own)
    return Error{Errc::invalid_argument, std::string("this rank's ") + (refusal.written ? "output" : "input") + " of " + call + " can't be " +
                                             (refusal.written ? "written" : "read"), refusal.reason, where};
  return Error{Errc::peer_failed,
               std::string("the kernel can't ") + (refusal.written ? "write to" : "read") + " the buffer that " +
                   who(channel, operation.run.disagreeing_rank()) + " passed to " + call + " (RONDO_KERNEL_COPIES=0 does without)", refusal.reason, where};
}

/// A peer that can't finish this call any more: it failed or died before its `done` word reached it; or it left, which it may have done because
/// another one died: that one is looked for first.
std::optional<Error> Communicator::Impl::find_lost_peer(const Channel& channel, const Operation& operation) {
  const Context& context = channel.context;
  std::optional<std::uint32_t> left;
  for (std::uint32_t member = 0; member < context.size(); ++member) {
    if (member == context.rank() || !context.mapped(member)) continue;
    const std::uint32_t peer = context.member(member);
    const bool gone = parts_.transport->gone(peer);
    // pairs with fail(), the destructor and the watcher: what they say comes after all else the peer has written
    // The main context's word: it is there even when the peer never made this pair's.
    const auto state = static_cast<MemberState>(main_->context.status(peer).state.load(std::memory_order_acquire));
    const bool finished = context.status(member).done.load(std::memory_order_acquire) >= operation.run.call();
    if (state == MemberState::failed)
      if (auto mismatch = find_mismatch(channel)) return mismatch;
    const bool lost = state != MemberState::running || gone;
    // whoever has finished this call did its part of it; if somebody else doesn't, that one is found here too
    if (!lost || (finished && state != MemberState::aborted)) continue;
    if (state != MemberState::left) return blame(peer, state, title(operation));
    if (!left) left = peer;
  }
  if (left) return blame(*left, MemberState::left, title(operation));
  return std::nullopt;
}

/// The error of `call` because of a lost `peer`, and whose abort() this rank passes on.
Error Communicator::Impl::blame(std::uint32_t peer, MemberState state, const std::string& call) {
  const std::string where = "rank " + std::to_string(rank());
  switch (state) {
    case MemberState::aborted: {
      const std::uint64_t named = main_->context.status(peer).culprit.load(std::memory_order_relaxed);  // published by state
      culprit_ = named != 0 && named <= size() && named != rank() + 1 ? named : std::uint64_t{peer} + 1;
      return Error{Errc::aborted, who(static_cast<std::uint32_t>(culprit_ - 1)) + " called abort()", 0, where};
    }
    case MemberState::failed:
      return last_words(peer);
    case MemberState::left:
      return Error{Errc::peer_failed, who(peer) + " left the communicator before " + call, 0, where};
    case MemberState::running:
      break;
  }
  return Error{Errc::peer_failed, who(peer) + " died during or before " + call, 0, where};
}

std::string Communicator::Impl::who(std::uint32_t peer) const {
  return "rank " + std::to_string(peer) + " (" + parts_.peers[peer] + ")";
}

}  // namespace rondo

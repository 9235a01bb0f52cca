// Receives from whoever sends first: matched with a message here, then run as any other receive, by a plan of two ranks.
#include <algorithm>

#include "base/clock.hpp"
#include "communicator/impl.hpp"

namespace rondo {

namespace {

/// A receive that waits for so long wants to know of all that may send.
constexpr std::int64_t call_after_ns = 100'000'000;

Error no_receive(Errc code, const std::string& detail) { return Error{code, detail, 0, "call"}; }

}  // namespace

std::optional<Error> Communicator::Impl::wrong_any(const void* data, std::uint64_t count, DataType type) const {
  if (born_in_ != fork_generation()) return forked_error();
  if (size() < 2) return no_receive(Errc::invalid_argument, "there is no other rank to receive from");
  if (auto fault = fault_of_message(data, count, type)) return fault;
  if (!parts_.has_segments() || size() <= DestinationLine::most_ranks) return std::nullopt;
  return no_receive(Errc::unsupported,
                    "receiving from any rank is for communicators of at most " + std::to_string(DestinationLine::most_ranks) + " ranks on one machine");
}

/// Needs the token.
std::shared_ptr<Work::State> Communicator::Impl::enqueue_any(void* data, std::uint64_t count, DataType type, std::uint32_t tag) {
  auto operation = std::make_shared<Operation>();
  operation->task = Task{message_key(count, type, tag), Binding{nullptr, data, 1}};
  auto state = std::make_shared<Work::State>();
  state->owner = shared_from_this();
  state->operations.push_back(operation);
  from_any_.push_back(operation);
  announce(operation);
  return state;
}

Work Communicator::Impl::start_any(void* data, std::uint64_t count, DataType type, std::uint32_t tag) {
  if (auto error = wrong_any(data, count, type)) return failed_work(std::move(*error));
  const TokenGuard guard(token_);
  if (!in_group())
    if (auto error = need_progress_thread()) return failed_work(std::move(*error));
  return Work(enqueue_any(data, count, type, tag));
}

Result<std::uint32_t> Communicator::Impl::run_any(void* data, std::uint64_t count, DataType type) {
  if (in_group()) return no_receive(Errc::invalid_argument, "recv_any between group_begin and group_end can't say its rank; accepted: start_recv_any");
  if (auto error = wrong_any(data, count, type)) return *error;
  token_.acquire();
  const auto state = enqueue_any(data, count, type, 0);
  token_.release();
  if (auto done = wait(*state, 0); !done) return done.error();
  return *state->operations.front()->source;
}

/// Needs the token. Receives are matched in the order in which they were started; a peer's messages go to those that name it first.
bool Communicator::Impl::match_any() {
  bool moved = false;
  while (!from_any_.empty()) {
    const std::shared_ptr<Operation> operation = from_any_.front();
    std::optional<Error> error;
    if (broken_.load(std::memory_order_acquire)) error = broken_error();
    Channel* channel = error ? nullptr : next_sender();
    if (channel == nullptr && !error) {
      auto found = look_for_senders(*operation);
      if (!found) return moved;
      channel = next_sender();  // one that sent before it went
      if (channel == nullptr) {
        fail(*found);
        error = broken_error();
      }
    }
    from_any_.pop_front();
    moved = true;
    if (error) {
      end(*operation, std::move(error));
    } else {
      operation->started_ns = 0;
      operation->source = served_last_;
      channel->queue.push_back(operation);
    }
  }
  return moved;
}

/// Whether a receive is under way or queued: behind the message it takes there may be another one, of a peer that has left since.
bool Communicator::Impl::is_receiving() const {
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& pair) {
    const Channel& channel = *pair.second;
    return pair.first.second == rank() && (!channel.queue.empty() || channel.sync_waits);
  });
}

/// The channel of a peer whose message waits for a receive, or null. Starts behind the one that was served last.
Channel* Communicator::Impl::next_sender() {
  parts_.transport->progress();
  for (std::uint32_t k = 0; k < size(); ++k) {
    const std::uint32_t peer = (served_last_ + 1 + k) % size();
    if (peer == rank() || !may_have_sent(peer)) continue;
    auto channel = pair_channel(peer, rank());
    if (!channel) return nullptr;  // the communicator has failed, which the next look finds
    if (!(*channel)->queue.empty() || (*channel)->sync_waits || !has_message(**channel, peer)) continue;
    served_last_ = peer;
    return *channel;
  }
  return nullptr;
}

/// Whether the peer has an area for messages to this rank: only then may it be looked at.
bool Communicator::Impl::may_have_sent(std::uint32_t peer) const {
  if (!parts_.shares_memory_with(peer)) return parts_.transport->receive_slot(peer, channel_from(peer)).payload != nullptr;
  // pairs with pair_channel() of the peer: its area's control words are there
  return (main_->context.destinations(peer).words[rank() / 64].load(std::memory_order_acquire) >> (rank() % 64) & 1) != 0;
}

bool Communicator::Impl::has_message(const Channel& channel, std::uint32_t peer) const {
  if (!parts_.shares_memory_with(peer)) return parts_.transport->receive_slot(peer, channel_from(peer)).payload != nullptr;
  const std::uint64_t next = channel.context.call + 1;
  // The sender's record of the call that this rank hasn't begun; the receive itself acquires what it reads.
  return channel.context.record(0, next & 1).sequence.load(std::memory_order_acquire) == next;
}

std::uint32_t Communicator::Impl::channel_from(std::uint32_t peer) const { return peer < rank() ? upward_channels : downward_channels; }

/// Why no message can come any more, or in time. A rank that has died may have been the one to send.
std::optional<Error> Communicator::Impl::look_for_senders(Operation& operation) {
  const std::int64_t now = now_ns();
  if (operation.started_ns == 0) operation.started_ns = operation.next_check_ns = now;
  if (now < operation.next_check_ns) return std::nullopt;
  operation.next_check_ns = now + check_interval_ns;
  const std::string what = "recv_any of " + std::to_string(operation.task.key.count) + " " + std::string(to_string(operation.task.key.type));
  const std::string where = "rank " + std::to_string(rank());
  if (now - operation.started_ns > call_after_ns)
    for (std::uint32_t peer = 0; peer < size(); ++peer)
      if (peer != rank()) parts_.transport->call(peer);  // it may be the one that sends: its end is to be heard of
  if (auto lost = find_lost_sender(what)) return lost;
  if (now - operation.started_ns <= operation.timeout_ns) return std::nullopt;
  return Error{Errc::deadline_exceeded,
               what + " did not end within " + std::to_string(operation.timeout_ns / 1'000'000) + " ms: no rank has sent a message to rank " +
                   std::to_string(rank()), 0, where};
}

/// Nobody can send any more once all others have left, and none of their messages is before another receive.
std::optional<Error> Communicator::Impl::all_left(std::uint32_t left, const std::string& what) const {
  if (left + 1 < size() || is_receiving()) return std::nullopt;
  return Error{Errc::peer_failed, "all other ranks left the communicator before " + what, 0, "rank " + std::to_string(rank())};
}

/// Whether nobody was there any more when this rank first called it.
bool Communicator::Impl::has_left_unheard(std::uint32_t peer) const {
  const auto refusal = parts_.transport->refusal(peer);
  return refusal && refusal->code == Errc::peer_failed;
}

std::optional<Error> Communicator::Impl::find_lost_sender(const std::string& what) {
  std::uint32_t left = 0;
  if (auto lost = find_lost(what, left)) return lost;
  return all_left(left, what);
}

/// A rank that died or has failed; and how many left, which is no failure.
std::optional<Error> Communicator::Impl::find_lost(const std::string& what, std::uint32_t& left) {
  if (parts_.status_links) parts_.status_links->take_in();
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const bool gone = parts_.transport->gone(peer);
    MemberState state = MemberState::running;
    if (parts_.shares_memory_with(peer)) {
      state = static_cast<MemberState>(main_->context.status(peer).state.load(std::memory_order_acquire));
    } else {
      const Notice& notice = parts_.status_links->of(peer);
      if (notice.kind == Notice::Kind::failed) return passed_on(peer, notice.code, notice.text);
      if (notice.kind == Notice::Kind::left || has_left_unheard(peer)) state = MemberState::left;
    }
    if (state == MemberState::left) ++left;
    else if (state != MemberState::running || gone) return blame(peer, state, what);
  }
  return std::nullopt;
}

Result<void> Communicator::Impl::check_peers() {
  if (born_in_ != fork_generation()) return forked_error();
  if (broken_.load(std::memory_order_acquire)) return broken_error();
  const TokenGuard guard(token_);
  std::uint32_t left = 0;
  auto lost = find_lost("check()", left);
  if (!lost) return {};
  fail(*lost);
  return broken_error();
}

}  // namespace rondo

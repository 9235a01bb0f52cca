#include "communicator/status_links.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "communicator/waiting.hpp"

namespace rondo {
namespace {

constexpr std::size_t longest_text = 1000;
/// How long a rank turns the crank for its last words, which may have to make a connection first.
constexpr std::int64_t help_ns = 100'000'000;
constexpr std::size_t few = 64;

/// A notice's payload begins with this; its text follows. The call stands in the message's header, as in any other message.
struct NoticeHead {
  std::uint32_t kind;
  std::uint32_t code;
  std::uint64_t finished;
};

}  // namespace

StatusLinks::StatusLinks(Transport& transport, std::uint32_t size, std::vector<std::uint32_t> peers)
    : transport_(transport), peers_(std::move(peers)), heard_(size) {}

/// Nothing when the link is full, or the peer doesn't listen any more.
void StatusLinks::post(std::uint32_t peer, const Notice& notice) {
  if (transport_.gone(peer) || heard_[peer].kind == Notice::Kind::left) return;
  const std::size_t length = std::min(notice.text.size(), longest_text);
  const Message message = transport_.send_slot(peer, notice_channel, sizeof(NoticeHead) + length);
  if (message.payload == nullptr) return;
  const CallIdentity& call = notice.call.identity;
  const std::uint64_t header[Message::header_words] = {notice.call.sequence, call.count, call.plan_hash, call.what(), call.root, 0, 0};
  std::memcpy(message.header, header, sizeof header);
  const NoticeHead head{static_cast<std::uint32_t>(notice.kind), static_cast<std::uint32_t>(notice.code), notice.finished};
  std::memcpy(message.payload, &head, sizeof head);
  std::memcpy(message.payload + sizeof head, notice.text.data(), length);
  transport_.post(peer, notice_channel);
}

bool StatusLinks::idle() {
  return std::all_of(peers_.begin(), peers_.end(), [this](std::uint32_t peer) { return transport_.gone(peer) || transport_.idle(peer, notice_channel); });
}

bool StatusLinks::is_for_all(Notice::Kind kind) const {
  if (kind == Notice::Kind::waiting) return peers_.size() <= few;
  return kind == Notice::Kind::failed &&
         std::none_of(peers_.begin(), peers_.end(), [this](std::uint32_t peer) { return heard_[peer].kind == Notice::Kind::failed; });
}

void StatusLinks::tell(const Notice& notice) {
  const std::int64_t begin_ns = now_ns();
  const bool for_all = is_for_all(notice.kind);
  for (const std::uint32_t peer : peers_)
    if (for_all || transport_.connected(peer)) post(peer, notice);
  const bool helps = notice.kind == Notice::Kind::failed || notice.kind == Notice::Kind::here;
  do transport_.progress();
  while (helps && !idle() && now_ns() < begin_ns + help_ns);
}

void StatusLinks::tell_waiting(const ToldCall& call) {
  if (call.sequence == told_waiting_) return;
  told_waiting_ = call.sequence;
  Notice notice;
  notice.kind = Notice::Kind::waiting;
  notice.call = call;
  tell(notice);
}

void StatusLinks::take_in() {
  for (const std::uint32_t peer : peers_)
    if (transport_.connected(peer)) take_from(peer);
}

void StatusLinks::take_from(std::uint32_t peer) {
  for (;;) {
    const Message message = transport_.receive_slot(peer, notice_channel);
    if (message.payload == nullptr) return;
    NoticeHead head{};
    Notice notice;
    if (message.bytes >= sizeof head) {
      std::memcpy(&head, message.payload, sizeof head);
      notice.kind = static_cast<Notice::Kind>(head.kind);
      notice.code = head.code <= static_cast<std::uint32_t>(Errc::corrupted) ? static_cast<Errc>(head.code) : Errc::peer_failed;
      notice.call = {message.header[0], CallIdentity::of_words(message.header[1], message.header[2], message.header[3], message.header[4])};
      notice.finished = head.finished;
      notice.text.assign(reinterpret_cast<const char*>(message.payload) + sizeof head, std::min(message.bytes - sizeof head, longest_text));
      notice.heard_ns = now_ns();
      // Whoever has failed leaves thereafter; the failure is the news.
      if (heard_[peer].kind != Notice::Kind::failed) heard_[peer] = std::move(notice);
    }
    transport_.release(peer, notice_channel);
  }
}

std::string StatusLinks::missing() const {
  std::string ranks;
  for (const std::uint32_t peer : peers_)
    if (transport_.connected(peer) && heard_[peer].kind == Notice::Kind::none) ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(peer);
  return ranks;
}

Result<void> StatusLinks::meet(std::int64_t deadline_ns) {
  const std::string transport(transport_.name());
  Notice here;
  here.kind = Notice::Kind::here;
  tell(here);
  const std::int64_t begin_ns = now_ns();
  Sleep sleep(nullptr);
  for (take_in(); !missing().empty() || !idle(); take_in()) {
    const std::int64_t now = now_ns();
    for (const std::uint32_t peer : peers_)
      if (transport_.gone(peer))
        return Error{Errc::peer_failed, "rank " + std::to_string(peer) + " can't be reached over " + transport + ", or has gone", 0, "bootstrap"};
    if (now > deadline_ns) return Error{Errc::deadline_exceeded, "nothing came over " + transport + " from " + missing(), 0, "bootstrap"};
    wait_a_turn(WaitPolicy{}, now - begin_ns, sleep);
    transport_.progress();
  }
  return {};
}

}  // namespace rondo

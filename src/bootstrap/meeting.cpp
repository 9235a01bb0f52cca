#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <utility>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "bootstrap/attendance.hpp"
#include "bootstrap/door.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/meeting.hpp"

namespace rondo {
namespace {

constexpr std::size_t most_at_once = 16;             // taken in before those who are there are heard again
constexpr std::int64_t patience_ns = 1'800'000'000;  // for a stranger's hello: it is gone within 2 s
constexpr std::int64_t hesitation_ns = 20'000'000;   // for one who has begun, where others wait
constexpr std::int64_t verdict_ns = 50'000'000;
constexpr std::int64_t linger_ns = 500'000'000;      // how long rank 0 waits for the other ranks to tell them that another one failed

/// A connection that hasn't said yet who it is.
struct Stranger {
  PeerSocket peer;
  std::int64_t deadline_ns = 0;
  std::unique_ptr<Greeting> greeting;
};

/// Success where it has gone without a verdict.
Result<void> last_words_of(const PeerSocket& peer) {
  FrameReader reader;
  for (;;) {
    const auto moved = reader.read(peer.socket.get(), [](std::uint32_t) { return largest_frame; });
    if (!moved || *moved != Moved::done) return {};
    const std::uint32_t kind = reader.kind();
    Gathered frame;
    frame.push_back(reader.take());
    if (kind != 0) continue;
    if (auto verdict = unpack_verdict(frame[0]); !verdict) return verdict;
  }
}

class Meeting {
 public:
  Meeting(Door& door, Attendance& attendance, const StaysAway& stays_away, const Ended& ended)
      : door_(door), attendance_(attendance), stays_away_(stays_away), ended_(ended), peers_(attendance.seats()) {}

  Result<std::vector<PeerSocket>> hold(std::int64_t deadline_ns) {
    while (!attendance_.is_complete()) {
      const std::int64_t left = deadline_ns - now_ns();
      if (left <= 0) return attendance_.refusal() ? *attendance_.refusal() : tell_all(peers_, attendance_.missing());
      if (const Error* const why = ended_ ? ended_() : nullptr; why != nullptr) {
        attendance_.refuse(*why);
        return dismiss();
      }
      strike_absent();
      if (!attendance_.refusal() || told_) take_turn(left);
      if (!attendance_.refusal() || told_) continue;
      dismiss();
      deadline_ns = std::min(deadline_ns, now_ns() + linger_ns);
    }
    if (attendance_.refusal()) return dismiss();
    crash_point("bootstrap: all have come");
    return std::move(peers_);
  }

  /// The job comes to nothing: those who are there hear it now, those who come later when they come.
  Error dismiss() {
    if (!std::exchange(told_, true)) tell_all(peers_, *attendance_.refusal());
    for (PeerSocket& peer : peers_) peer.socket.reset();
    return *attendance_.refusal();
  }

 private:
  void strike_absent() {
    for (std::size_t seat = 0; stays_away_ && seat < attendance_.seats(); ++seat)
      if (attendance_.is_awaited(seat) && stays_away_(attendance_.rank_at(seat))) attendance_.strike(seat);
  }

  /// Waits until something happens, and does what it asks for.
  void take_turn(std::int64_t at_most_ns) {
    // Ranks that are there are asked for nothing but whether they hang up.
    std::vector<pollfd> entries;
    for (const PeerSocket& peer : peers_) entries.push_back({peer.socket.get(), POLLRDHUP, 0});
    for (const Stranger& stranger : strangers_) {
      entries.push_back({stranger.peer.socket.get(), POLLIN, 0});
      at_most_ns = std::min(at_most_ns, std::max<std::int64_t>(0, stranger.deadline_ns - now_ns()));
    }
    entries.push_back({door_.socket(), POLLIN, 0});
    const std::int64_t at_most_ms = std::min<std::int64_t>(at_most_ns / 1'000'000 + 1, stays_away_ || ended_ ? 5 : 1000);
    if (poll(entries.data(), entries.size(), static_cast<int>(at_most_ms)) < 0) return;
    for (std::size_t seat = 0; seat < peers_.size(); ++seat)
      if (entries[seat].revents != 0) return attendance_.lose(seat, last_words_of(peers_[seat]));
    hear_strangers();
    if ((entries.back().revents & POLLIN) != 0 && !attendance_.is_complete()) take_in();
  }

  void hear_strangers() {
    for (std::size_t i = 0; i < strangers_.size();) {
      Stranger& stranger = strangers_[i];
      const Heard heard = stranger.greeting->listen_to(stranger.peer.socket.get());
      if (heard == Heard::nothing_new && now_ns() < stranger.deadline_ns) {
        ++i;
        continue;
      }
      Stranger gone = std::move(stranger);
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
      if (const std::string complaint = gone.greeting->complaint(); !complaint.empty()) attendance_.note_stranger(gone.peer.whom + complaint);
      if (heard != Heard::all) continue;
      crash_point("bootstrap: hello heard");
      admit(std::move(gone.peer), gone.greeting->hello());
    }
  }

  /// For one more: where there are too many, who has been there longest without a word goes, since ranks say at once who they are; then who has
  /// begun and doesn't go on.
  bool make_room() {
    if (strangers_.size() < most_strangers) return true;
    auto leaves = std::find_if(strangers_.begin(), strangers_.end(), [](const Stranger& stranger) { return !stranger.greeting->has_begun(); });
    if (leaves == strangers_.end()) leaves = strangers_.begin();
    if (leaves->greeting->has_begun() && now_ns() < leaves->deadline_ns - patience_ns + hesitation_ns) return false;
    strangers_.erase(leaves);
    return true;
  }

  /// Takes in who waits.
  void take_in() {
    for (std::size_t taken = 0; taken < most_at_once; ++taken) {
      if (!make_room()) return;  // those who wait at the door wait a little longer
      PeerSocket peer = door_.open();
      if (!peer.socket && errno == 0) continue;
      if (!peer.socket) {
        if (errno != EMFILE && errno != ENFILE) return;
        if (strangers_.empty() && !told_) attendance_.refuse(no_descriptor_left("accept another rank with", errno, "bootstrap"));
        else usleep(1000);  // the strangers' descriptors are free again soon, or another thread's
        return;
      }
      strangers_.push_back({std::move(peer), now_ns() + patience_ns, door_.greet()});
    }
  }

  void admit(PeerSocket peer, const Hello& hello) {
    const Attendance::Answer answer = attendance_.hear(hello, peer.whom);
    (void)send_frame(peer.socket.get(), answer.verdict ? Address{} : pack_verdict(answer.verdict.error()), now_ns() + verdict_ns);
    crash_point("bootstrap: hello answered");
    if (answer.seat) peers_[*answer.seat] = std::move(peer);
  }

  Door& door_;
  Attendance& attendance_;
  const StaysAway& stays_away_;
  const Ended& ended_;
  std::vector<PeerSocket> peers_;  ///< by seat
  std::vector<Stranger> strangers_;
  bool told_ = false;  ///< those who were there know that the job comes to nothing
};

}  // namespace

Result<void> hear_verdict(const PeerSocket& peer, std::uint32_t rank, std::int64_t deadline_ns, const Result<void>& own_trouble, const Result<void>& sent) {
  if (!own_trouble) return own_trouble;
  // It may have given up before it heard anything: then its reason is there to be read all the same.
  auto answer = receive_frame(peer.socket.get(), deadline_ns);
  if (!answer) return lost(rank, peer.whom, sent ? answer.error() : sent.error());
  if (auto verdict = unpack_verdict(*answer); !verdict) return verdict;
  crash_point("bootstrap: admitted");
  return {};
}

std::vector<std::uint32_t> all_but_first(std::uint32_t size) {
  std::vector<std::uint32_t> others(size - 1);
  std::iota(others.begin(), others.end(), 1);
  return others;
}

Result<std::vector<PeerSocket>> hold_meeting(Door& door, Attendance attendance, std::int64_t deadline_ns, const StaysAway& stays_away, const Ended& ended) {
  crash_point("bootstrap: listening");
  return Meeting(door, attendance, stays_away, ended).hold(deadline_ns);
}

Error turn_away(Door& door, Attendance attendance, std::int64_t deadline_ns, const Error& own_trouble) {
  attendance.refuse(in_bootstrap(Errc::peer_failed, attendance.holder() + " could not join: " + own_trouble.detail));
  const StaysAway nobody;
  const Ended never;
  Meeting meeting(door, attendance, nobody, never);
  meeting.dismiss();
  (void)meeting.hold(std::min(deadline_ns, now_ns() + trouble_ns));
  return own_trouble;
}

}  // namespace rondo

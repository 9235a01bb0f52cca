#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "bootstrap/door.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/meeting.hpp"
#include "rondo/communicator.hpp"

namespace rondo {
namespace {

constexpr std::size_t most_at_once = 16;             // taken in before those who are there are heard again
constexpr std::int64_t patience_ns = 1'800'000'000;  // for a stranger's hello: it is gone within 2 s
constexpr std::int64_t hesitation_ns = 20'000'000;   // for one who has begun, where others wait
constexpr std::int64_t answer_ns = 50'000'000;
constexpr std::int64_t linger_ns = 500'000'000;      // how long rank 0 waits for the other ranks to tell them that another one failed

/// A connection that hasn't said yet who it is.
struct Stranger {
  PeerSocket peer;
  std::int64_t deadline_ns = 0;
  std::unique_ptr<Greeting> greeting;
};

class Meeting {
 public:
  Meeting(Door& door, std::uint32_t size, const std::string& job, const StaysAway& stays_away)
      : door_(door), job_(job), stays_away_(stays_away), peers_(size), come_(size), missing_(size - 1) {}

  Result<std::vector<PeerSocket>> hold(std::int64_t deadline_ns) {
    while (missing_ != 0) {
      const std::int64_t left = deadline_ns - now_ns();
      if (left <= 0) return refusal_ ? *refusal_ : tell_all(peers_, in_bootstrap(Errc::deadline_exceeded, missing_ranks()));
      const auto absent = count_absent();
      const auto turn = absent ? take_turn(left) : absent;
      if (turn || refusal_) continue;
      refuse_all(turn.error());
      deadline_ns = std::min(deadline_ns, now_ns() + linger_ns);
    }
    if (refusal_) return *refusal_;
    crash_point("bootstrap: all have come");
    return std::move(peers_);
  }

  /// The job comes to nothing: those who are there hear it now, those who come later when they come.
  void refuse_all(const Error& error) {
    refusal_ = tell_all(peers_, error);
    for (PeerSocket& peer : peers_) peer.socket.reset();
  }

 private:
  /// Ranks that won't come aren't waited for, not even to tell them that the job comes to nothing because of them.
  Result<void> count_absent() {
    std::optional<std::uint32_t> first;
    for (std::uint32_t rank = 1; stays_away_ && rank < come_.size(); ++rank) {
      if (come_[rank] || !stays_away_(rank)) continue;
      if (!first) first = rank;
      come_[rank] = true;
      --missing_;
    }
    if (first) return has_gone(*first);
    return {};
  }

  /// Waits until something happens, and does what it asks for. An error: a rank can't come any more, or not to this job.
  Result<void> take_turn(std::int64_t at_most_ns) {
    // Ranks that are there are asked for nothing but whether they hang up.
    std::vector<pollfd> entries;
    for (const PeerSocket& peer : peers_) entries.push_back({peer.socket.get(), POLLRDHUP, 0});
    for (const Stranger& stranger : strangers_) {
      entries.push_back({stranger.peer.socket.get(), POLLIN, 0});
      at_most_ns = std::min(at_most_ns, std::max<std::int64_t>(0, stranger.deadline_ns - now_ns()));
    }
    entries.push_back({door_.socket(), POLLIN, 0});
    if (poll(entries.data(), entries.size(), static_cast<int>(std::min<std::int64_t>(at_most_ns / 1'000'000 + 1, stays_away_ ? 5 : 1000))) < 0) return {};
    for (std::uint32_t rank = 1; rank < peers_.size(); ++rank)
      if (entries[rank].revents != 0) return lost(rank, peers_[rank].whom, in_bootstrap(Errc::io, "", ECONNRESET));
    if (auto heard = hear_strangers(); !heard) return heard;
    return (entries.back().revents & POLLIN) != 0 ? take_in() : Result<void>{};
  }

  Result<void> hear_strangers() {
    for (std::size_t i = 0; i < strangers_.size();) {
      Stranger& stranger = strangers_[i];
      const Heard heard = stranger.greeting->listen_to(stranger.peer.socket.get());
      if (heard == Heard::nothing_new && now_ns() < stranger.deadline_ns) {
        ++i;
        continue;
      }
      Stranger gone = std::move(stranger);
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
      if (const std::string complaint = gone.greeting->complaint(); !complaint.empty()) refused_ = gone.peer.whom + complaint;
      if (heard != Heard::all) continue;
      crash_point("bootstrap: hello heard");
      if (auto admitted = admit(std::move(gone.peer), gone.greeting->hello()); !admitted) return admitted;
    }
    return {};
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
  Result<void> take_in() {
    for (std::size_t taken = 0; taken < most_at_once; ++taken) {
      if (!make_room()) return {};  // those who wait at the door wait a little longer
      PeerSocket peer = door_.open();
      if (!peer.socket && errno == 0) continue;
      if (!peer.socket) {
        if (errno != EMFILE && errno != ENFILE) return {};
        if (strangers_.empty() && !refusal_) return no_descriptor_left("accept another rank with", errno, "bootstrap");
        usleep(1000);  // the strangers' descriptors are free again soon
        return {};
      }
      strangers_.push_back({std::move(peer), now_ns() + patience_ns, door_.greet()});
    }
    return {};
  }

  Result<void> admit(PeerSocket peer, const Hello& hello) {
    const bool in_range = hello.rank < peers_.size();
    const bool twice = in_range && (hello.rank == 0 || come_[hello.rank]);
    Result<void> judged = refusal_ ? *refusal_ : judge(hello, static_cast<std::uint32_t>(peers_.size()), job_, name_of(hello.rank, peer.whom));
    Result<void> verdict = judged;
    if (verdict && (twice || !in_range)) {
      // Whoever was first is the rank; a second one is told so and harms nobody.
      refused_ = name_of(hello.rank, peer.whom) + " came";
      const std::string& first = hello.rank == 0 || !in_range ? this_process() : peers_[hello.rank].whom;
      refused_ += twice ? " though " + name_of(hello.rank, first) + " was there" : ", which is out of range";
      verdict = in_bootstrap(Errc::invalid_argument, refused_);
    }
    (void)send_frame(peer.socket.get(), verdict ? Address{} : pack_verdict(verdict.error()), now_ns() + answer_ns);
    crash_point("bootstrap: hello answered");
    if (!twice && in_range) {
      come_[hello.rank] = true;
      --missing_;
    }
    if (verdict) peers_[hello.rank] = std::move(peer);
    return judged;
  }

  std::string missing_ranks() const {
    std::string names;
    for (std::size_t rank = 1; rank < come_.size(); ++rank)
      if (!come_[rank]) names += (names.empty() ? "" : ", ") + std::to_string(rank);
    return "no sign of rank " + names + " of job '" + job_ + "'" + (refused_.empty() ? "" : "; " + refused_);
  }

  Door& door_;
  const std::string& job_;
  const StaysAway& stays_away_;
  std::vector<PeerSocket> peers_;  ///< by rank
  std::vector<bool> come_;         ///< by rank, also those that were refused
  std::uint32_t missing_;
  std::vector<Stranger> strangers_;
  std::optional<Error> refusal_;  ///< what every rank is told that comes now
  std::string refused_;           ///< the last process that was no rank of the job
};

}  // namespace

Result<void> hear_verdict(const PeerSocket& first, std::int64_t deadline_ns, const Result<void>& own_trouble, const Result<void>& sent) {
  if (!own_trouble) return own_trouble;
  // Rank 0 may have given up before it heard anything: then its reason is there to be read all the same.
  auto answer = receive_frame(first.socket.get(), deadline_ns);
  if (!answer) return lost(0, first.whom, sent ? answer.error() : sent.error());
  if (auto verdict = unpack_verdict(*answer); !verdict) return verdict;
  crash_point("bootstrap: admitted");
  return {};
}

Result<std::vector<PeerSocket>> hold_meeting(Door& door, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                             const Result<void>& own_trouble, const StaysAway& stays_away) {
  crash_point("bootstrap: listening");
  Meeting meeting(door, size, job, stays_away);
  if (own_trouble) return meeting.hold(deadline_ns);
  meeting.refuse_all(in_bootstrap(Errc::peer_failed, name_of(0, this_process()) + " could not join: " + own_trouble.error().detail));
  (void)meeting.hold(std::min(deadline_ns, now_ns() + trouble_ns));
  return own_trouble.error();
}

}  // namespace rondo

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/clock.hpp"
#include "base/crash_point.hpp"
#include "base/descriptors.hpp"
#include "bootstrap/approach.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/network.hpp"

namespace rondo {
namespace {

constexpr std::int64_t call_attempt_ns = 2'000'000'000;  // for one connection: a packet may be lost

using Failure = Approach::Failure;

/// One rank on its way to another one.
class Caller {
 public:
  Caller(const Hello& hello, const MeetingPlace& place, std::uint32_t goal) : place_(place), goal_(goal) {
    knock_.hello = hello;
    std::memcpy(knock_.hello.magic, network_magic, sizeof network_magic);
  }

  /// Tries once, at every address of the place; nothing: it was heard.
  std::optional<Failure> call(std::int64_t deadline_ns) {
    int error = 0;
    const Addresses all = resolve(place_, error);
    if (all == nullptr) {
      why_ = "'" + place_.host + "' has no address: " + gai_strerror(error);
      return Failure::unreached;
    }
    Failure failure = Failure::unreached;
    for (const addrinfo* entry = all.get(); entry != nullptr; entry = entry->ai_next) {
      const auto here = call_at(*entry, std::min(deadline_ns, now_ns() + call_attempt_ns));
      if (!here || *here == Failure::no_descriptor) return here;
      if (*here == Failure::stranger) failure = *here;
    }
    return failure;
  }

  PeerSocket take() { return std::move(first_); }
  const Result<void>& sent() const { return sent_; }
  const std::string& why() const { return why_; }  ///< the last attempt failed

 private:
  std::optional<Failure> call_at(const addrinfo& to, std::int64_t deadline_ns) {
    Fd socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return Failure::no_descriptor;
    const std::string where = text_of(to.ai_addr, to.ai_addrlen);
    if (!connect_by(socket.get(), to, deadline_ns)) {
      why_ = where + ": " + std::strerror(errno);
      return Failure::unreached;
    }
    crash_point("bootstrap: connected");
    tune(socket.get());
    knock_.nonce = fresh_nonce();
    Challenge challenge{};
    if (!send_bytes(socket.get(), &knock_, sizeof knock_, deadline_ns) || !receive_bytes(socket.get(), &challenge, sizeof challenge, deadline_ns)) {
      why_ = where + " hung up without an answer";
      return Failure::unreached;
    }
    if (!is_same(challenge.proof, prove(place_.key, Side::first, place_.job, knock_, challenge.nonce))) {
      why_ = where + " hasn't this job's key (RONDO_JOB_KEY_FILE), or is another job's rank " + std::to_string(goal_);
      return Failure::stranger;
    }
    const KeyProof proof = prove(place_.key, Side::other, place_.job, knock_, challenge.nonce);
    sent_ = send_bytes(socket.get(), proof.data(), proof.size(), deadline_ns);
    crash_point("bootstrap: hello sent");
    first_ = {std::move(socket), where};
    return std::nullopt;
  }

  const MeetingPlace& place_;
  std::uint32_t goal_;
  Knock knock_{};
  PeerSocket first_;
  Result<void> sent_;
  std::string why_;
};

}  // namespace

bool connect_by(int socket, const addrinfo& to, std::int64_t deadline_ns) {
  if (connect(socket, to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  for (;;) {
    const std::int64_t left = deadline_ns - now_ns();
    pollfd entry{socket, POLLOUT, 0};
    if (left <= 0) {
      errno = ETIMEDOUT;
      return false;
    }
    if (poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000))) <= 0) continue;
    int number = 0;
    socklen_t length = sizeof number;
    (void)getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &length);
    errno = number;
    return number == 0;
  }
}

Result<PeerSocket> come_to_network(std::uint32_t rank, std::uint32_t size, std::uint32_t goal, const MeetingPlace& place, std::int64_t deadline_ns,
                                   const Result<void>& own_trouble, const StaysAway& stays_away) {
  Caller caller(hello_of(rank, size, own_trouble), place, goal);
  Approach approach(goal, place.job, own_trouble ? deadline_ns : std::min(deadline_ns, now_ns() + trouble_ns), own_trouble);
  for (;;) {
    if (stays_away && stays_away(goal)) return has_gone(goal);
    auto failure = caller.call(approach.give_up_ns());
    Error why = failure == Failure::no_descriptor ? no_descriptor_left("connect to rank " + std::to_string(goal) + " with", errno, "bootstrap")
                                                  : in_bootstrap(Errc::invalid_argument, caller.why());
    if (!failure) {
      PeerSocket peer = caller.take();
      const auto heard = hear_verdict(peer, goal, deadline_ns, own_trouble, caller.sent());
      if (heard) return peer;
      why = heard.error();
      failure = why.code == Errc::peer_failed && why.native != 0 ? Failure::hung_up : Failure::refused;
    }
    if (const auto end = approach.fail(*failure, why, now_ns())) return *end;
    usleep(static_cast<useconds_t>(approach.pause_ns() / 1000));
    if (const auto end = approach.expire(now_ns())) return *end;
  }
}

}  // namespace rondo

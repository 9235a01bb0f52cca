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
#include "bootstrap/frame.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/network.hpp"

namespace rondo {
namespace {

constexpr std::int64_t attempt_ns = 2'000'000'000;   // for one connection: a packet may be lost
constexpr std::int64_t stranger_ns = 3'000'000'000;  // how long a meeting of another job may take to make room
constexpr std::int64_t loss_ns = 1'000'000'000;      // how long rank 0 may be unreachable after it hung up on this rank, before it counts as gone
constexpr useconds_t shortest_pause_us = 1000;
constexpr useconds_t longest_pause_us = 50'000;

/// What became of one attempt to be taken in.
enum class Outcome { met, again, stranger, no_descriptor };

/// One rank on its way to rank 0.
class Caller {
 public:
  Caller(const Hello& hello, const MeetingPlace& place) : place_(place) {
    knock_.hello = hello;
    std::memcpy(knock_.hello.magic, network_magic, sizeof network_magic);
  }

  /// Tries once, at every address of the place.
  Outcome call(std::int64_t deadline_ns) {
    int error = 0;
    const Addresses all = resolve(place_, error);
    if (all == nullptr) {
      why_ = "'" + place_.host + "' has no address: " + gai_strerror(error);
      return Outcome::again;
    }
    Outcome outcome = Outcome::again;
    for (const addrinfo* entry = all.get(); entry != nullptr; entry = entry->ai_next) {
      const Outcome here = call_at(*entry, std::min(deadline_ns, now_ns() + attempt_ns));
      if (here == Outcome::met || here == Outcome::no_descriptor) return here;
      if (here == Outcome::stranger) outcome = here;
    }
    return outcome;
  }

  PeerSocket take() { return std::move(first_); }
  const Result<void>& sent() const { return sent_; }
  const std::string& why() const { return why_; }  ///< the last attempt failed

 private:
  Outcome call_at(const addrinfo& to, std::int64_t deadline_ns) {
    Fd socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return Outcome::no_descriptor;
    const std::string where = text_of(to.ai_addr, to.ai_addrlen);
    if (!connect_by(socket.get(), to, deadline_ns)) {
      why_ = where + ": " + std::strerror(errno);
      return Outcome::again;
    }
    crash_point("bootstrap: connected to rank 0");
    tune(socket.get());
    knock_.nonce = fresh_nonce();
    Challenge challenge{};
    if (!send_bytes(socket.get(), &knock_, sizeof knock_, deadline_ns) || !receive_bytes(socket.get(), &challenge, sizeof challenge, deadline_ns)) {
      why_ = where + " hung up without an answer";
      return Outcome::again;
    }
    if (!is_same(challenge.proof, prove(place_.key, Side::first, place_.job, knock_, challenge.nonce))) {
      why_ = where + " hasn't this job's key (RONDO_JOB_KEY_FILE), or is another job's rank 0";
      return Outcome::stranger;
    }
    const Proof proof = prove(place_.key, Side::other, place_.job, knock_, challenge.nonce);
    sent_ = send_bytes(socket.get(), proof.data(), proof.size(), deadline_ns);
    crash_point("bootstrap: hello sent");
    first_ = {std::move(socket), where};
    return Outcome::met;
  }

  const MeetingPlace& place_;
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

Result<PeerSocket> come_to_network(std::uint32_t rank, std::uint32_t size, const MeetingPlace& place, std::int64_t deadline_ns,
                                   const Result<void>& own_trouble, const StaysAway& stays_away) {
  Caller caller(hello_of(rank, size, own_trouble), place);
  const std::int64_t give_up_ns = own_trouble ? deadline_ns : std::min(deadline_ns, now_ns() + trouble_ns);
  std::int64_t first_stranger_ns = 0;
  std::optional<Error> hung_up;  // while this rank waited to be taken in: rank 0 had too many others, or has gone
  std::int64_t hung_up_ns = 0;
  for (useconds_t pause_us = shortest_pause_us;; pause_us = std::min(2 * pause_us, longest_pause_us)) {
    if (stays_away && stays_away(0)) return has_gone(0);
    const Outcome outcome = caller.call(give_up_ns);
    if (outcome == Outcome::met) {
      PeerSocket first = caller.take();
      const auto heard = hear_verdict(first, deadline_ns, own_trouble, caller.sent());
      if (heard) return first;
      if (!own_trouble || heard.error().code != Errc::peer_failed || heard.error().native == 0) return heard.error();
      hung_up = heard.error();
      hung_up_ns = now_ns();
    }
    if (hung_up && now_ns() > hung_up_ns + loss_ns) return *hung_up;
    if (!own_trouble && now_ns() > give_up_ns) return own_trouble.error();
    if (outcome == Outcome::no_descriptor) return own_trouble ? no_descriptor_left("connect to rank 0 with", errno, "bootstrap") : own_trouble.error();
    if (outcome == Outcome::stranger && first_stranger_ns == 0) first_stranger_ns = now_ns();
    if (outcome == Outcome::stranger && now_ns() > first_stranger_ns + stranger_ns) return in_bootstrap(Errc::invalid_argument, caller.why());
    usleep(pause_us);
    if (now_ns() > give_up_ns) return in_bootstrap(Errc::deadline_exceeded, "no sign of rank 0 of job '" + place.job + "': " + caller.why());
  }
}

}  // namespace rondo

#include "bootstrap/lifelines.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/reachability.hpp"

namespace rondo {
namespace {

constexpr std::int64_t look_ns = 50'000'000;
constexpr std::int64_t heartbeat_ns = 400'000'000;
/// A peer that computes for hours reads nothing. Its kernel has room for so many; once it hadn't, it would count as dead.
constexpr std::uint32_t most_unheard = 20'000;

}  // namespace

Lifelines::Lifelines(std::vector<PeerSocket> peers) : lost_ns_(new std::atomic<std::int64_t>[peers.size()]()) {
  // Heartbeats are data: a lost packet is sent again several times before the line counts as dead. A keepalive's probe would have one chance.
  const int off = 0;
  for (PeerSocket& peer : peers) {
    if (peer.socket) {
      (void)setsockopt(peer.socket.get(), SOL_SOCKET, SO_KEEPALIVE, &off, sizeof off);
      end_after(peer.socket.get(), longest_silence_ms);
    }
    lines_.emplace_back(std::move(peer.socket));
  }
  unheard_.assign(lines_.size(), 0);
}

void Lifelines::turn(std::int64_t now_ns) {
  if (now_ns < next_look_ns_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread looks
  next_look_ns_.store(now_ns + look_ns, std::memory_order_relaxed);
  const bool heartbeat = now_ns >= next_heartbeat_ns_;
  if (heartbeat) next_heartbeat_ns_ = now_ns + heartbeat_ns;
  for (std::uint32_t rank = 0; rank < lines_.size(); ++rank)
    if (lines_[rank]) look_after(rank, heartbeat, now_ns);
}

void Lifelines::look_after(std::uint32_t rank, bool heartbeat, std::int64_t now_ns) {
  const int socket = lines_[rank].get();
  std::array<char, 256> heard{};
  const ssize_t got = recv(socket, heard.data(), heard.size(), MSG_DONTWAIT);
  const auto failed = [](ssize_t result) { return result < 0 && errno != EAGAIN && errno != EINTR; };
  bool ended = got == 0 || failed(got);
  if (got > 0) unheard_[rank] = 0;
  if (!ended && heartbeat && unheard_[rank] < most_unheard) {
    ++unheard_[rank];
    ended = failed(send(socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  if (!ended) return;
  lost_ns_[rank].store(now_ns, std::memory_order_relaxed);
  lines_[rank].reset();
}

}  // namespace rondo

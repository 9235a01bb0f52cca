#include "transports/tcp/tcp.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptors.hpp"
#include "transports/tcp/connect.hpp"
#include "transports/tcp/connection.hpp"

namespace rondo {
namespace {

using tcp::Connection;

/// A broken connection counts as the peer's going only after this long: what its other connections say of it may be still on the way.
constexpr std::int64_t last_words_ns = 200'000'000;
/// How long a rank that leaves waits for a peer that takes nothing; and where packets that it sent are lost.
constexpr std::int64_t farewell_ns = 100'000'000;
constexpr std::int64_t longest_farewell_ns = 3'000'000'000;
constexpr useconds_t farewell_look_us = 100;
/// A wait looks at its own peer's connection each time; at all others' only so often.
constexpr std::int64_t look_ns = 3'000;
/// And so often it finds out whether peers can still be reached.
constexpr std::int64_t watch_ns = 400'000'000;

struct Peer {
  std::unique_ptr<Connection> connection;
  std::int64_t broken_ns = 0;  ///< since when the connection is; 0: it isn't
  std::atomic<bool> gone{false};
};

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TcpOptions& options) : options_(options), peers_(options.ranks) {}

  /// What was posted reaches the peers' kernels before this end goes, unless they went first or take nothing any more.
  ~TcpTransport() override {
    std::int64_t progress_ns = now_ns();
    std::uint64_t left = undelivered();
    while (left != 0 && now_ns() < progress_ns + (resends() ? longest_farewell_ns : farewell_ns)) {
      usleep(farewell_look_us);
      if (const std::uint64_t now_left = undelivered(); std::exchange(left, now_left) > now_left) progress_ns = now_ns();
    }
  }

  Result<void> start() {
    auto listener = tcp::listen_at(options_.address, options_.ports, place_);
    if (!listener) return listener.error();
    listener_ = std::move(*listener);
    poller_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    return poller_ ? Result<void>{} : no_descriptor_left("wait for the other ranks with", errno, "tcp");
  }

  std::string_view name() const override { return "tcp"; }

  Result<Address> address() override {
    Address address;
    address.bytes.resize(sizeof place_);
    std::memcpy(address.bytes.data(), &place_, sizeof place_);
    return address;
  }

  Result<void> connect(const std::vector<Address>& all, std::int64_t deadline_ns) override {
    auto sockets = tcp::connect_all({options_.rank, options_.hosts}, all, listener_, place_.ticket, deadline_ns, options_.is_over);
    options_.is_over = nullptr;
    if (!sockets) return sockets.error();
    listener_.reset();
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      if (!(*sockets)[rank]) continue;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u32 = rank;
      if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, (*sockets)[rank].get(), &event) != 0) return Error{Errc::io, "epoll_ctl", errno, "tcp"};
      peers_[rank].connection = std::make_unique<Connection>(std::move((*sockets)[rank]), buffers_);
    }
    return {};
  }

  Message send_slot(std::uint32_t peer, std::uint32_t channel, std::uint64_t bytes) override { return to(peer).send_slot(channel, bytes); }
  void post(std::uint32_t peer, std::uint32_t channel) override { to(peer).post(channel); }
  Message receive_slot(std::uint32_t peer, std::uint32_t channel) override { return to(peer).receive_slot(channel); }
  void release(std::uint32_t peer, std::uint32_t channel) override { to(peer).release(channel); }
  bool idle(std::uint32_t peer, std::uint32_t channel) override { return to(peer).idle(channel); }

  void progress() override {
    const std::int64_t now = now_ns();
    if (now < next_look_ns_) return;
    next_look_ns_ = now + look_ns;
    const bool watches = now >= next_watch_ns_;
    if (watches) next_watch_ns_ = now + watch_ns;
    for (Peer& peer : peers_) {
      if (!peer.connection) continue;
      if (watches) peer.connection->watch();
      if (peer.connection->has_unwritten()) peer.connection->write();
      if (peer.connection->has_ended()) note_end(peer, now);
    }
    std::array<epoll_event, 64> events;
    const int ready = epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < ready; ++i) {
      Connection& connection = *peers_[events[static_cast<std::size_t>(i)].data.u32].connection;
      connection.read();
      if (connection.has_ended()) epoll_ctl(poller_.get(), EPOLL_CTL_DEL, connection.socket(), nullptr);
    }
  }

  // pairs with note_end()'s release
  bool gone(std::uint32_t rank) const override { return peers_[rank].gone.load(std::memory_order_acquire); }

 private:
  std::uint64_t undelivered() {
    std::uint64_t bytes = 0;
    for (Peer& peer : peers_) {
      if (!peer.connection || peer.connection->is_parents()) continue;
      peer.connection->write();
      bytes += peer.connection->undelivered();
    }
    return bytes;
  }

  bool resends() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
      return peer.connection && !peer.connection->is_parents() && peer.connection->is_resending();
    });
  }

  Connection& to(std::uint32_t peer) { return *peers_[peer].connection; }

  static void note_end(Peer& peer, std::int64_t now) {
    if (peer.broken_ns == 0) peer.broken_ns = now;
    if (now - peer.broken_ns > last_words_ns) peer.gone.store(true, std::memory_order_release);
  }

  TcpOptions options_;
  tcp::Place place_{};
  Fd listener_;
  Fd poller_;
  tcp::Buffers buffers_;
  std::vector<Peer> peers_;
  std::int64_t next_look_ns_ = 0;
  std::int64_t next_watch_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options) {
  auto transport = std::make_unique<TcpTransport>(options);
  if (auto started = transport->start(); !started) return started.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace rondo

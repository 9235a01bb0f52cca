#include "transports/tcp/tcp.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptors.hpp"
#include "base/fork_guard.hpp"
#include "base/share_host.hpp"
#include "transports/tcp/calling.hpp"
#include "transports/tcp/connection.hpp"
#include "transports/tcp/listener.hpp"

namespace rondo {
namespace {

using tcp::Calling;
using tcp::Connection;
using tcp::Listener;

/// A broken connection counts as the peer's going only after this long: what its other connections say of it may be still on the way.
constexpr std::int64_t last_words_ns = 200'000'000;
/// How long a rank that leaves waits for a peer that takes nothing; and for packets that it sent, as they may be lost and sent again. A socket closed before
/// that loses them, once its peer has said something that nobody reads.
constexpr std::int64_t farewell_ns = 100'000'000;
constexpr std::int64_t longest_farewell_ns = 3'000'000'000;
constexpr useconds_t farewell_look_us = 100;
/// A wait looks at its own peer's connection each time; at all others' only so often.
constexpr std::int64_t look_ns = 3'000;
/// And so often it finds out whether peers can still be reached.
constexpr std::int64_t watch_ns = 400'000'000;

struct Peer {
  tcp::Place place{};
  std::unique_ptr<Calling> calling;        ///< until it is answered
  std::unique_ptr<Connection> connection;  ///< null: neither has called
  std::int64_t broken_ns = 0;              ///< since when the connection is, or the call was refused; 0: it isn't
  std::optional<Error> refusal;
  std::atomic<bool> gone{false};
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(const TcpOptions& options, std::shared_ptr<Listener> listener)
      : options_(options), seat_(std::move(listener)), peers_(options.ranks), born_in_(fork_generation()) {}

  /// What was posted reaches the peers' kernels before this end goes, unless they went first or take nothing any more.
  ~TcpTransport() override {
    if (born_in_ != fork_generation()) return;  // a forked child's copy
    std::int64_t progress_ns = now_ns();
    std::uint64_t left = undelivered();
    for (const std::uint32_t rank : known_) peers_[rank].connection->excuse();
    if (left == 0) left = undelivered();
    while (left != 0 && now_ns() < progress_ns + (has_packets_out() ? longest_farewell_ns : farewell_ns)) {
      usleep(farewell_look_us);
      if (const std::uint64_t now_left = undelivered(); std::exchange(left, now_left) > now_left) progress_ns = now_ns();
    }
  }

  Result<void> start() {
    poller_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    return poller_ ? listen_to(seat_.listener().events(), callers) : no_descriptor_left("wait for the other ranks with", errno, "tcp");
  }

  std::string_view name() const override { return "tcp"; }

  Result<Address> address() override {
    Address address;
    address.bytes.resize(sizeof seat_.place());
    std::memcpy(address.bytes.data(), &seat_.place(), address.bytes.size());
    return address;
  }

  Result<void> connect(const std::vector<Address>& all, std::int64_t /*deadline_ns*/) override {
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      auto place = tcp::place_of(rank, all[rank]);
      if (!place) return place.error();
      peers_[rank].place = *place;
    }
    return {};
  }

  Message send_slot(std::uint32_t peer, std::uint32_t channel, std::uint64_t bytes) override {
    call(peer);
    return peers_[peer].connection->send_slot(channel, bytes);
  }
  void post(std::uint32_t peer, std::uint32_t channel) override { peers_[peer].connection->post(channel); }
  Message receive_slot(std::uint32_t peer, std::uint32_t channel) override {
    const auto& from = peers_[peer].connection;
    return from ? from->receive_slot(channel) : Message{};
  }
  void release(std::uint32_t peer, std::uint32_t channel) override { peers_[peer].connection->release(channel); }
  bool idle(std::uint32_t peer, std::uint32_t channel) override { return !peers_[peer].connection || peers_[peer].connection->idle(channel); }
  bool connected(std::uint32_t peer) const override { return peers_[peer].connection != nullptr; }
  void call(std::uint32_t peer) override {
    if (peers_[peer].connection) return;
    know(peer);
    peers_[peer].calling = std::make_unique<Calling>(peer, peers_[peer].place, seat_.place(), now_ns());
    ++calling_;
  }
  std::optional<Error> refusal(std::uint32_t peer) const override { return peers_[peer].refusal; }

  void progress() override {
    const std::int64_t now = now_ns();
    if (now < next_look_ns_) return;
    next_look_ns_ = now + look_ns;
    const bool watches = now >= next_watch_ns_;
    if (watches) {
      next_watch_ns_ = now + watch_ns;
      seat_.listener().look();
    }
    for (const std::uint32_t rank : known_) {
      Peer& peer = peers_[rank];
      if (watches) peer.connection->watch();
      if (peer.connection->has_unwritten()) peer.connection->write();
    }
    std::array<epoll_event, 64> events;
    const int ready = epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < ready; ++i)
      if (const std::uint32_t rank = events[static_cast<std::size_t>(i)].data.u32; rank == callers) seat_.listener().look();
      else read(rank);
    meet(now);
    // behind the reading, however long this rank was kept from it
    for (const std::uint32_t rank : known_)
      if (Peer& peer = peers_[rank]; peer.connection->has_ended() || peer.refusal) note_end(peer, now);
  }

  void leave() override {
    seat_.listener().look();
    meet(now_ns());
    seat_.give_up();
  }

  // pairs with note_end()'s release
  bool gone(std::uint32_t rank) const override { return peers_[rank].gone.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t callers = ~std::uint32_t{0};  ///< in an event, where a rank's number is else

  Result<void> listen_to(int socket, std::uint32_t what) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = what;
    return epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket, &event) == 0 ? Result<void>{} : Error{Errc::io, "epoll_ctl", errno, "tcp"};
  }

  /// Of a peer with which there is nothing yet.
  Connection& know(std::uint32_t peer) {
    peers_[peer].connection = std::make_unique<Connection>(options_.rank < peer, buffers_);
    known_.push_back(peer);
    return *peers_[peer].connection;
  }

  /// Goes on with the calls that this rank makes, and takes those that it gets.
  void meet(std::int64_t now) {
    for (tcp::Caller& caller : seat_.take()) take(std::move(caller));
    for (std::size_t i = 0; calling_ != 0 && i < known_.size(); ++i)
      if (peers_[known_[i]].calling) go_on_calling(known_[i], now);
  }

  void take(tcp::Caller caller) {
    if (caller.rank >= peers_.size() || caller.rank == options_.rank || share_host(options_.hosts, options_.rank, caller.rank)) return;
    Peer& peer = peers_[caller.rank];
    if (peer.gone.load(std::memory_order_relaxed)) return;
    if (!peer.connection) know(caller.rank);
    const int socket = caller.socket.get();
    if (!peer.connection->take_call(std::move(caller.socket))) return;
    give_up_call(peer);
    peer.refusal.reset();
    peer.broken_ns = 0;
    if (auto added = listen_to(socket, caller.rank); !added) peer.refusal = added.error();
  }

  void give_up_call(Peer& peer) {
    if (!peer.calling) return;
    peer.calling.reset();
    --calling_;
  }

  void go_on_calling(std::uint32_t rank, std::int64_t now) {
    Peer& peer = peers_[rank];
    auto answer = peer.calling->look(now);
    if (!answer) return;
    give_up_call(peer);
    if (*answer) {
      const int socket = (*answer)->get();
      const tcp::Call call = tcp::call_of(options_.rank, peer.place);
      const bool said = send(socket, &call, sizeof call, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof call);
      auto added = said ? listen_to(socket, rank) : Error{Errc::io, "rank " + std::to_string(rank) + " hung up when it was called", errno, "tcp"};
      if (added) return peer.connection->answered(std::move(**answer));
      peer.refusal = added.error();
    } else {
      peer.refusal = answer->error();
    }
    note_end(peer, now);
  }

  void read(std::uint32_t rank) {
    Connection& connection = *peers_[rank].connection;
    connection.read();
    if (!connection.has_ended()) return;
    if (connection.was_refused()) peers_[rank].refusal = Error{Errc::peer_failed, "it had left when it was called", 0, "tcp"};
    for (const int socket : connection.sockets())
      if (socket >= 0) epoll_ctl(poller_.get(), EPOLL_CTL_DEL, socket, nullptr);
  }

  std::uint64_t undelivered() {
    seat_.listener().look();
    meet(now_ns());
    std::uint64_t bytes = 0;
    for (const std::uint32_t rank : known_) {
      if (peers_[rank].refusal) continue;
      peers_[rank].connection->write();
      bytes += peers_[rank].connection->undelivered();
    }
    return bytes;
  }

  bool has_packets_out() const {
    return std::any_of(known_.begin(), known_.end(), [this](std::uint32_t rank) { return peers_[rank].connection->has_packets_out(); });
  }

  static void note_end(Peer& peer, std::int64_t now) {
    if (peer.broken_ns == 0) peer.broken_ns = now;
    if (now - peer.broken_ns > last_words_ns) peer.gone.store(true, std::memory_order_release);
  }

  const TcpOptions options_;
  tcp::Seat seat_;
  Fd poller_;
  tcp::Buffers buffers_;
  std::vector<Peer> peers_;
  std::vector<std::uint32_t> known_;  ///< those with a connection, or one that is to be
  std::size_t calling_ = 0;           ///< how many calls aren't answered yet
  const std::uint64_t born_in_;
  std::int64_t next_look_ns_ = 0;
  std::int64_t next_watch_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options) {
  auto listener = Listener::at(options.address, options.ports);
  if (!listener) return listener.error();
  auto transport = std::make_unique<TcpTransport>(options, std::move(*listener));
  if (auto started = transport->start(); !started) return started.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace rondo

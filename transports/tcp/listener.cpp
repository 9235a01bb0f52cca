#include "transports/tcp/listener.hpp"

#include <sodium.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptors.hpp"
#include "base/log.hpp"
#include "base/one_a_process.hpp"
#include "transports/tcp/connection.hpp"
#include "transports/tcp/doorkeeper.hpp"

namespace rondo::tcp {
namespace {

constexpr std::size_t most_strangers = 256;
constexpr int most_let_in = 16;  ///< in a look: who waits has other things to do
constexpr int most_events = 64;
constexpr std::int64_t hello_patience_ns = 1'800'000'000;

/// A process's listeners.
struct Registry {
  std::mutex mutex;
  std::map<std::tuple<std::string, std::uint16_t, std::uint16_t>, std::weak_ptr<Listener>> listeners;
};

/// Who calls nobody is told so.
void refuse(const LiveFd& caller) {
  const Head nobody{0, Head::Kind::nobody, 0, {}};
  (void)send(caller.get(), &nobody, sizeof nobody, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

Result<std::shared_ptr<Listener>> Listener::at(const std::string& address, const PortRange& ports) {
  Registry& all = one_a_process<Registry>();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<Listener>& known = all.listeners[{address, ports.first, ports.last}];
  if (auto listener = known.lock()) return listener;
  Place place{};
  auto socket = listen_at(address, ports, place);
  if (!socket) return socket.error();
  Fd poller(epoll_create1(EPOLL_CLOEXEC));
  if (!poller) return no_descriptor_left("listen for the other ranks with", errno, "tcp");
  auto listener = std::make_shared<Listener>(std::move(*socket), place, std::move(poller));
  if (!listener->polls(listener->socket_.get())) return Error{Errc::io, "epoll_ctl", errno, "tcp"};
  if (auto kept = keep_door_of(listener); !kept) return kept.error();
  known = listener;
  return listener;
}

bool Listener::polls(int socket) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket;
  return epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

bool Listener::look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return true;
  const std::int64_t now = now_ns();
  std::array<epoll_event, most_events> events;
  const int ready = epoll_wait(poller_.get(), events.data(), most_events, 0);
  for (int i = 0; i < ready; ++i) {
    const int socket = events[static_cast<std::size_t>(i)].data.fd;
    if (socket == socket_.get()) {
      let_in(now);
      continue;
    }
    const auto stranger = std::find_if(strangers_.begin(), strangers_.end(), [socket](const Stranger& each) { return each.socket.get() == socket; });
    if (stranger != strangers_.end() && has_said_all(*stranger)) strangers_.erase(stranger);
  }
  drop_late(now);
  return !strangers_.empty();
}

void Listener::let_in(std::int64_t now_ns) {
  for (int i = 0; i < most_let_in; ++i) {
    Fd socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE) && !std::exchange(warned_, true))
      log_warn(to_string(no_descriptor_left("let in a rank that calls with; it waits", errno, "tcp")));
    if (!socket) return;
    tune(socket.get());
    Stranger stranger{LiveFd(std::move(socket)), now_ns, {}, 0};
    if (!has_said_all(stranger) && polls(stranger.socket.get())) strangers_.push_back(std::move(stranger));  // most have said it by now
    if (strangers_.size() > most_strangers) strangers_.pop_front();
  }
}

/// Whether it is a stranger no more: it has a seat, or is to go.
bool Listener::has_said_all(Stranger& stranger) {
  auto* const call = reinterpret_cast<char*>(&stranger.call);
  const ssize_t got = recv(stranger.socket.get(), call + stranger.came, sizeof(Call) - stranger.came, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) return true;
  stranger.came += static_cast<std::size_t>(got);
  if (stranger.came < sizeof(Call)) return false;
  seat(stranger);
  return true;
}

void Listener::seat(Stranger& stranger) {
  for (Seat* seat : seats_) {
    if (!is_proved(stranger.call, seat->place_)) continue;
    (void)epoll_ctl(poller_.get(), EPOLL_CTL_DEL, stranger.socket.get(), nullptr);  // not there, where it said all at once
    seat->callers_.push_back({stranger.call.rank, std::move(stranger.socket)});
    seat->has_callers_.store(true, std::memory_order_release);  // pairs with take()
    return;
  }
  refuse(stranger.socket);
}

void Listener::drop_late(std::int64_t now_ns) {
  while (!strangers_.empty() && now_ns > strangers_.front().came_ns + hello_patience_ns) strangers_.pop_front();
}

Seat::Seat(std::shared_ptr<Listener> listener) : listener_(std::move(listener)), place_(listener_->place()) {
  randombytes_buf(&place_.seat, sizeof place_.seat);
  randombytes_buf(place_.ticket.data(), place_.ticket.size());
  const std::lock_guard lock(listener_->mutex_);
  listener_->seats_.push_back(this);
}

Seat::~Seat() { give_up(); }

void Seat::give_up() {
  if (listener_->is_parents()) return;  // whose lock may be held by a thread that isn't here
  const std::lock_guard lock(listener_->mutex_);
  std::erase(listener_->seats_, this);
  for (const Caller& caller : std::exchange(callers_, {})) refuse(caller.socket);
}

std::vector<Caller> Seat::take() {
  if (!has_callers_.load(std::memory_order_acquire)) return {};  // pairs with seat()
  const std::lock_guard lock(listener_->mutex_);
  has_callers_.store(false, std::memory_order_relaxed);
  return std::exchange(callers_, {});
}

}  // namespace rondo::tcp

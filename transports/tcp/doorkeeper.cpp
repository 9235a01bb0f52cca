#include "transports/tcp/doorkeeper.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "base/descriptors.hpp"
#include "base/fd.hpp"
#include "base/fork_guard.hpp"
#include "base/one_a_process.hpp"
#include "base/quiet_thread.hpp"
#include "transports/tcp/listener.hpp"

namespace rondo::tcp {
namespace {

/// A rank that waits is faster, and is let go first.
constexpr useconds_t courtesy_us = 20'000;
/// Between looks while there is more to do than fits into one.
constexpr useconds_t pause_us = 1'000;
/// Between looks at strangers that have not proved themselves yet.
constexpr int stranger_look_ms = 500;

class Doorkeeper {
 public:
  Result<void> add(const std::shared_ptr<Listener>& listener) {
    const std::lock_guard lock(mutex_);
    if (auto started = start(); !started) return started;
    listeners_.push_back(listener);
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(set_.get(), EPOLL_CTL_ADD, listener->events(), &event) != 0) return Error{Errc::out_of_resources, "epoll_ctl", errno, "tcp"};
    return {};
  }

 private:
  Result<void> start() {
    if (set_) return {};
    set_.reset(epoll_create1(EPOLL_CLOEXEC));
    if (!set_) return no_descriptor_left("listen for the other ranks with", errno, "tcp");
    close_in_children(set_.get());
    const int refused = start_quiet_thread("rondo-door", [this] { keep(); });
    if (refused == 0) return {};
    forget_in_children(set_.get());
    set_.reset();  // the next one tries again
    return Error{Errc::out_of_resources, "to be called by other ranks takes 1 more thread (limits: ulimit -u, the control group's pids.max)", refused, "tcp"};
  }

  void keep() {
    for (bool strangers = false;;) {
      if (has_news(strangers ? stranger_look_ms : -1)) usleep(courtesy_us);
      for (strangers = look(); has_news(0); strangers = look()) usleep(pause_us);
    }
  }

  bool has_news(int timeout_ms) {
    epoll_event event{};
    return epoll_wait(set_.get(), &event, 1, timeout_ms) == 1;
  }

  /// Whether somebody must be looked at again that says nothing.
  bool look() {
    bool strangers = false;
    for (const auto& listener : open_ones()) strangers |= listener->look();
    return strangers;
  }

  /// A listener that has gone took its descriptor out of the set.
  std::vector<std::shared_ptr<Listener>> open_ones() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Listener>> open;
    std::erase_if(listeners_, [&](const std::weak_ptr<Listener>& listener) {
      if (auto one = listener.lock()) open.push_back(std::move(one));
      return listener.expired();
    });
    return open;
  }

  std::mutex mutex_;
  Fd set_;
  std::vector<std::weak_ptr<Listener>> listeners_;
};

}  // namespace

Result<void> keep_door_of(const std::shared_ptr<Listener>& listener) { return one_a_process<Doorkeeper>().add(listener); }

}  // namespace rondo::tcp

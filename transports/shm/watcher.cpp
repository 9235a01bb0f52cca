#include "transports/shm/watcher.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <mutex>
#include <unordered_map>

#include "base/crash_point.hpp"
#include "base/fd.hpp"
#include "base/fork_guard.hpp"
#include "base/one_a_process.hpp"
#include "base/quiet_thread.hpp"

namespace rondo {
namespace {

struct Watched {
  std::uint32_t rank;
  DeathNote note;
};

class Watcher {
 public:
  bool add(int fd, std::uint32_t rank, const DeathNote& note) {
    const std::lock_guard lock(mutex_);
    if (!start()) return false;
    watched_[fd] = Watched{rank, note};
    epoll_event event{};
    event.events = 0;  // hang-up is always reported
    event.data.fd = fd;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void remove(int fd) {
    const std::lock_guard lock(mutex_);
    if (watched_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }

 private:
  bool start() {
    if (epoll_) return true;
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return false;
    crash_point("connect: watcher's set made");
    close_in_children(epoll_.get());
    const int refused = start_quiet_thread("rondo-watch", [this] { watch(); });
    if (refused == 0) {
      crash_point("connect: watcher's thread started");
      return true;
    }
    forget_in_children(epoll_.get());
    epoll_.reset();  // the next one tries again
    errno = refused;
    return false;
  }

  void watch() {
    for (;;) {
      epoll_event event{};
      const int count = epoll_wait(epoll_.get(), &event, 1, -1);
      if (count < 0 && errno != EINTR) return;
      if (count != 1) continue;
      const std::lock_guard lock(mutex_);
      const auto found = watched_.find(event.data.fd);
      if (found == watched_.end()) continue;
      // pairs with ShmTransport::gone
      (*found->second.note)[found->second.rank].store(true, std::memory_order_release);
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, event.data.fd, nullptr);
      watched_.erase(found);
    }
  }

  std::mutex mutex_;
  Fd epoll_;
  std::unordered_map<int, Watched> watched_;
};

}  // namespace

bool watch_lifeline(int fd, std::uint32_t rank, const DeathNote& note) { return one_a_process<Watcher>().add(fd, rank, note); }
void unwatch_lifeline(int fd) { one_a_process<Watcher>().remove(fd); }

}  // namespace rondo

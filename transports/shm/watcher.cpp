#include "transports/shm/watcher.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/crash_point.hpp"
#include "base/fd.hpp"
#include "base/fork_guard.hpp"

namespace rondo {
namespace {

struct Watched {
  std::uint32_t rank;
  DeathNote note;
};

/// Lives until the process ends: its thread is detached and sleeps, so that no order of static destructors matters.
class Watcher {
 public:
  static Watcher& instance() {
    static std::mutex guard;
    static Watcher* watcher = nullptr;
    const std::lock_guard lock(guard);
    // A forked child has its parent's epoll set, but not the thread: it starts afresh and leaves the parent's alone.
    if (watcher == nullptr || watcher->generation_ != fork_generation()) watcher = new Watcher;
    return *watcher;
  }

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
    // The thread takes no signals: they belong to the program that uses the library.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int refused = start_thread();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (refused == 0) {
      crash_point("connect: watcher's thread started");
      return true;
    }
    forget_in_children(epoll_.get());
    epoll_.reset();  // the next one tries again
    errno = refused;
    return false;
  }

  /// 0, or errno's number.
  int start_thread() {
    try {
      std::thread([this] { watch(); }).detach();
    } catch (const std::system_error& error) {
      return error.code().value();
    }
    return 0;
  }

  void watch() {
    pthread_setname_np(pthread_self(), "rondo-watch");
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

  const std::uint64_t generation_ = fork_generation();
  std::mutex mutex_;
  Fd epoll_;
  std::unordered_map<int, Watched> watched_;
};

}  // namespace

bool watch_lifeline(int fd, std::uint32_t rank, const DeathNote& note) { return Watcher::instance().add(fd, rank, note); }
void unwatch_lifeline(int fd) { Watcher::instance().remove(fd); }

}  // namespace rondo

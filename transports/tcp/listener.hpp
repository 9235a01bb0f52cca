// Where all TCP transports of a process are called: their callers come to one port, and say to which seat they come.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/live_fd.hpp"
#include "base/port_range.hpp"
#include "transports/tcp/place.hpp"

namespace rondo::tcp {

struct Caller {
  std::uint32_t rank = 0;  ///< that it says it has: any number
  LiveFd socket;
};

class Seat;

/// Thread-safe. Strangers are dropped: who doesn't prove within 1.8 s that it knows a seat's ticket; of more than 256 the first that came.
class Listener {
 public:
  /// This process's listener there, which lives as long as somebody has it. Errors: those of listen_at().
  static Result<std::shared_ptr<Listener>> at(const std::string& address, const PortRange& ports);

  Listener(LiveFd socket, const Place& place, Fd poller) : socket_(std::move(socket)), place_(place), poller_(std::move(poller)) {}

  /// Where it listens, without a seat.
  const Place& place() const { return place_; }
  /// For poll() and the like: readable while somebody waits to be let in, or has said something.
  int events() const { return poller_.get(); }
  /// Whether this is a forked child's copy, which listens no more.
  bool is_parents() const { return socket_.is_parents(); }

  /// Lets in who waits, hears what callers say, and drops who is late, unless another thread does so. Those for whom there is no descriptor wait on; the log
  /// says so once. Whether somebody is there who hasn't said enough yet.
  bool look();

 private:
  friend class Seat;
  struct Stranger {
    LiveFd socket;
    std::int64_t came_ns = 0;
    Call call{};
    std::size_t came = 0;
  };

  void let_in(std::int64_t now_ns);
  bool has_said_all(Stranger& stranger);
  void seat(Stranger& stranger);
  void drop_late(std::int64_t now_ns);
  bool polls(int socket);

  LiveFd socket_;
  const Place place_;
  Fd poller_;         ///< of socket_ and all strangers
  std::mutex mutex_;  ///< of what follows
  std::vector<Seat*> seats_;
  std::deque<Stranger> strangers_;  ///< as they came
  bool warned_ = false;
};

/// A transport's end of it.
class Seat {
 public:
  explicit Seat(std::shared_ptr<Listener> listener);
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat();

  Listener& listener() const { return *listener_; }
  /// The listener's, with this seat and its ticket.
  const Place& place() const { return place_; }
  /// Whoever comes from now on is refused.
  void give_up();
  /// Those that have come since the last time.
  std::vector<Caller> take();

 private:
  friend class Listener;

  const std::shared_ptr<Listener> listener_;
  Place place_;
  std::atomic<bool> has_callers_{false};
  std::vector<Caller> callers_;  ///< under the listener's mutex
};

}  // namespace rondo::tcp

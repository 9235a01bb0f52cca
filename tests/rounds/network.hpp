// A simulated network and its clock: connections that keep the order of what is sent, each as slow as chance has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <utility>
#include <vector>

class Network {
 public:
  /// Called for the rank at one end and the rank at the other, when nothing more comes from there.
  using Ended = std::function<void(std::uint32_t end, std::uint32_t other)>;

  Network(std::uint64_t seed, Ended ended) : random_(seed), ended_(std::move(ended)) {}

  std::uint64_t random() { return random_(); }
  std::int64_t now() const { return now_; }
  std::uint64_t events() const { return events_; }
  /// Mostly short, now and then not.
  std::int64_t delay();

  void at(std::int64_t when, std::function<void()> what) { due_.push({std::max(when, now_), next_++, std::move(what)}); }
  /// When so many events have happened.
  void after(std::uint64_t events, std::function<void()> what) { counted_.emplace(events, std::move(what)); }
  /// Everything that happens until then, but no more than so many events.
  void run(std::int64_t until, std::uint64_t most_events);

  void connect(std::uint32_t a, std::uint32_t b);
  /// Nothing where they aren't connected (any more).
  void send(std::uint32_t from, std::uint32_t to, std::function<void()> what);
  /// The other end learns it behind all that was sent before.
  void close(std::uint32_t from, std::uint32_t to);
  /// All connections of a rank are closed.
  void leave(std::uint32_t rank);
  /// Both ends learn it, what is under way is lost.
  void cut(std::uint32_t a, std::uint32_t b);
  /// Those to whom it has a connection.
  std::vector<std::uint32_t> peers(std::uint32_t rank) const;

 private:
  struct Event {
    std::int64_t when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const { return std::pair(when, number) > std::pair(other.when, other.number); }
  };
  struct Pipe {
    std::int64_t last_ns = 0;      ///< when what was sent last arrives
    bool open = false;             ///< its sender hasn't closed it
    std::uint64_t generation = 0;  ///< of the connection
  };

  void deliver(std::uint32_t from, std::uint32_t to, Pipe& pipe, std::function<void()> what);

  std::mt19937_64 random_;
  std::int64_t now_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t generation_ = 0;
  std::priority_queue<Event> due_;
  std::multimap<std::uint64_t, std::function<void()>> counted_;  ///< by the number of events
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pipe> pipes_;  ///< by sender and receiver
  Ended ended_;
};

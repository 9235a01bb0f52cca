// A process group's communicator: how its ranks find one another through torch's store, and what it says when something goes wrong.
#pragma once

#include <rondo/rondo.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "arguments.hpp"

namespace rondo_torch {

/// What torch says of a group when it makes one.
struct GroupOptions {
  c10::intrusive_ptr<c10d::Store> store;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::chrono::milliseconds timeout{0};  ///< of each operation
  std::string name;                      ///< the same on all its ranks; empty: they meet through the store
  bool is_world = true;                  ///< the default group: others are parts of it
  std::vector<std::int64_t> global_ranks;  ///< by rank: the rank in the default group; empty: the same
};

/// Counts a group's started operations that haven't ended. Thread-safe.
class InFlight {
 public:
  void add();
  void remove();
  /// Blocks until there is none, at most for so long. False: there still are some.
  bool drain(std::chrono::milliseconds at_most);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

class Group {
 public:
  /// The default group is joined here, blocking until all ranks have come. Another one is joined by a thread of its own, so that making it costs its
  /// caller nothing and no rank waits for another; communicator() waits for it. But ranks on several machines meet through the store for each group, which
  /// blocks until all have come.
  explicit Group(const GroupOptions& options);
  /// The ranks of a group once more, which all of them make under the same name, once. Joined by a thread of its own.
  Group(const Group& of, const std::string& name);
  /// This rank and another one of a group, which both make, once. Joined by a thread of its own.
  Group(const Group& of, std::uint32_t peer);
  /// What is left of a group; see shrink().
  struct Left {
    rondo_communicator* communicator = nullptr;
    std::vector<std::int64_t> ranks;  ///< in that group, ascending
    bool has(std::int64_t rank) const;
    /// Of a rank of that group the number among these.
    std::uint32_t place_of(std::int64_t rank) const;
  };
  Group(const Group& of, Left left);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Blocks until the ranks have found one another. Throws DistBackendError where they can't, since one of them has died, as well, and after abort() and
  /// close().
  /// `id`: whose call asks, for what is thrown.
  rondo_communicator* communicator(const CallId& id = {});

  /// The ranks that haven't gone, by an agreement of theirs that waits until each of the others has come here, too, or has gone. The group is over with it.
  /// Once. Throws DistBackendError. The communicator is the caller's.
  Left shrink();

  /// Later calls' deadline.
  void set_timeout(std::chrono::milliseconds timeout);
  std::chrono::milliseconds timeout() const { return timeout_; }
  /// Ends all waits, on every rank; where the ranks haven't found one another yet, on this one.
  void abort();
  /// Leaves the group once all ranks have joined it and what was started has ended, which this waits for; what takes longer than 10 s is aborted.
  void close();
  /// Of all groups there are: where something started hasn't ended, abort(), and wait until those who asked have been told, 10 s at most.
  static void give_up_unfinished();
  std::shared_ptr<InFlight> in_flight() const { return in_flight_; }
  std::uint32_t size() const { return size_; }

 private:
  struct Joined;
  void join(bool at_once);
  void enlist();
  std::shared_ptr<Joined> joined_;  // shared with the thread that joins, which may outlive this
  std::shared_future<void> ready_;
  std::atomic<rondo_communicator*> communicator_{nullptr};  ///< once ready
  std::atomic<bool> aborted_{false};
  const std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();  // shared with operations, which may outlive this
  const std::uint32_t rank_, size_;
  std::chrono::milliseconds timeout_;
  GroupOptions options_;  ///< where its ranks are on several machines: they meet through the store for each thing that they make
  std::string job_;    ///< what its ranks share, and no other group's: a name, or where they are on several machines a unique id
  bool by_id_ = false;
  std::string world_;  ///< of the default group: what its ranks agreed on
};

/// Throws what a failed call of the library says, after `what`.
[[noreturn]] void throw_failure(rondo_status status, const std::string& what);

}  // namespace rondo_torch

// Whether the peers' processes live, while this rank's blocks wait for them on the GPU, where nobody sees it. docs/design/0020-device-executor.md.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "rondo/communicator.hpp"

namespace rondo {

class PeerWatch {
 public:
  /// A thread that asks `host` ten times a second. Once it has failed, failure() says why, and `tell` is called, by that thread. `host` may be used
  /// meanwhile. Error: out_of_resources (no thread).
  static Result<std::unique_ptr<PeerWatch>> make(Communicator& host, std::function<void()> tell);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Thread-safe.
  std::optional<Error> failure() const;

 private:
  PeerWatch(Communicator& host, std::function<void()> tell) : host_(host), tell_(std::move(tell)) {}
  void run();

  Communicator& host_;
  const std::function<void()> tell_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  bool leaving_ = false;  // under lock_, as what follows
  bool running_ = false;  ///< the thread, from before it is started on
  std::optional<Error> failure_;
};

}  // namespace rondo

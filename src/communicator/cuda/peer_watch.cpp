#include "communicator/cuda/peer_watch.hpp"

#include <chrono>

#include "base/quiet_thread.hpp"

namespace rondo {
namespace {

constexpr std::chrono::milliseconds between_looks{100};

}  // namespace

Result<std::unique_ptr<PeerWatch>> PeerWatch::make(Communicator& host, std::function<void()> tell) {
  std::unique_ptr<PeerWatch> watch(new PeerWatch(host, std::move(tell)));
  watch->running_ = true;
  const int refused = start_quiet_thread("rondo-watch", [self = watch.get()] { self->run(); });
  if (refused == 0) return watch;
  watch->running_ = false;
  return Error{Errc::out_of_resources, "starting a thread that watches the peers of GPUs", refused, "CUDA"};
}

PeerWatch::~PeerWatch() {
  std::unique_lock holds(lock_);
  leaving_ = true;
  changed_.notify_all();
  changed_.wait(holds, [&] { return !running_; });
}

std::optional<Error> PeerWatch::failure() const {
  const std::lock_guard holds(lock_);
  return failure_;
}

void PeerWatch::run() {
  std::unique_lock holds(lock_);
  while (!changed_.wait_for(holds, between_looks, [&] { return leaving_; })) {
    holds.unlock();
    const auto there = host_.check();
    holds.lock();
    if (there) continue;
    failure_ = there.error();
    tell_();
    break;
  }
  running_ = false;
  changed_.notify_all();
}

}  // namespace rondo

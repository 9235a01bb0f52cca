// How the backend runs what isn't a rondo_call.
#pragma once

#include "backend.hpp"

namespace rondo_torch {

/// Another deadline for one call.
class Deadline {
 public:
  Deadline(rondo_communicator* communicator, std::chrono::milliseconds usual, std::chrono::milliseconds timeout)
      : communicator_(communicator), usual_(usual), differs_(timeout != c10d::kUnsetTimeout && timeout != kNoTimeout && timeout != usual) {
    if (differs_) set(timeout);
  }
  ~Deadline() {
    if (differs_) set(usual_);
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void set(std::chrono::milliseconds timeout) { (void)rondo_set_timeout(communicator_, std::chrono::duration<double>(timeout).count()); }
  rondo_communicator* communicator_;
  const std::chrono::milliseconds usual_;
  const bool differs_;
};

template <class Now, class Later>
WorkPointer Backend::run(Operation operation, Timing timing, const Now& now, const Later& later) {
  rondo_communicator* communicator = group_.communicator();
  const Deadline deadline(communicator, group_.timeout(), timing.timeout);
  if (timing.async) return start(std::move(operation), later);
  auto work = c10::make_intrusive<RondoWork>(std::move(operation));
  const rondo_status status = now(communicator);
  if (status != RONDO_SUCCESS) throw_failure(status, work->describe());
  work->done();
  return work;
}

template <class Later>
WorkPointer Backend::start(Operation operation, const Later& later) {
  auto work = c10::make_intrusive<RondoWork>(std::move(operation));
  rondo_work* started = nullptr;
  const rondo_status status = later(group_.communicator(), &started);
  if (status != RONDO_SUCCESS) throw_failure(status, work->describe());
  work->follow(started, group_.in_flight());
  return work;
}

}  // namespace rondo_torch

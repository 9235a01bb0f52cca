// How the backend runs what isn't a rondo_call.
#pragma once

#include <ATen/record_function.h>

#include "backend.hpp"
#include "device_work.hpp"

namespace rondo_torch {

/// Whether torch gives a call a time limit of its own.
inline bool is_given(std::chrono::milliseconds timeout) { return timeout != c10d::kUnsetTimeout && timeout != kNoTimeout; }

/// Another deadline for one call.
class Deadline {
 public:
  Deadline(rondo_communicator* communicator, std::chrono::milliseconds usual, std::chrono::milliseconds timeout)
      : communicator_(communicator), usual_(usual), differs_(is_given(timeout) && timeout != usual) {
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

template <class Enqueue>
WorkPointer Backend::run_on_device(Operation operation, std::chrono::milliseconds timeout, const Enqueue& enqueue) {
  const std::unique_ptr<DeviceCall> on = std::move(operation.on);  // until it is enqueued
  void* const stream = on->stream().native_handle();
  const rondo_status status = on->group()->with_communicator(is_given(timeout) ? timeout : group_.timeout(),
                                                             [&](rondo_cuda_communicator* communicator) { return enqueue(communicator, stream); });
  if (status != RONDO_SUCCESS) throw_failure(status, operation.describe());
  auto work = c10::make_intrusive<DeviceWork>(std::move(operation), *on);
  batch_.note(work);
  return work;
}

template <class Now, class Later>
WorkPointer Backend::run(Operation operation, Timing timing, const Now& now, const Later& later, std::size_t parts) {
  rondo_communicator* communicator = group_.communicator(operation.id);
  const Deadline deadline(communicator, group_.timeout(), timing.timeout);
  if (timing.async) return start(std::move(operation), later, parts);
  const auto run_parts = [&](const auto& described) {
    for (std::size_t part = 0; part < parts; ++part) {
      const rondo_status status = now(communicator);
      if (status != RONDO_SUCCESS) throw_failure(status, described.describe());
    }
  };
  if (!at::hasCallbacks()) {
    run_parts(operation);
    operation.copy_out();
    return {};
  }
  auto work = c10::make_intrusive<RondoWork>(std::move(operation));  // torch's profiler shows it
  run_parts(*work);
  work->done();
  return work;
}

template <class Later>
WorkPointer Backend::start(Operation operation, const Later& later, std::size_t parts) {
  rondo_communicator* communicator = group_.communicator(operation.id);
  auto work = c10::make_intrusive<RondoWork>(std::move(operation));
  RondoWork::Parts started;
  try {
    while (started.size() < parts) {
      rondo_work* part = nullptr;
      const rondo_status status = later(communicator, &part);
      if (status != RONDO_SUCCESS) throw_failure(status, work->describe());
      started.push_back(part);
    }
  } catch (...) {
    for (rondo_work* part : started) {  // what they read and write must outlast them
      (void)rondo_work_wait(part);
      rondo_work_destroy(part);
    }
    throw;
  }
  work->follow(std::move(started), group_.in_flight());
  batch_.note(work);
  return work;
}

}  // namespace rondo_torch

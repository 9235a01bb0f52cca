#include "made_up_gpu/streams.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

namespace rondo::test::made_up {
namespace {

std::mutex all_lock;
std::vector<Stream*> all_streams;

}  // namespace

Stream::Stream() : thread_([this] { run(); }) {
  const std::lock_guard holds(all_lock);
  all_streams.push_back(this);
}

Stream::~Stream() {
  {
    const std::lock_guard holds(all_lock);
    std::erase(all_streams, this);
  }
  {
    const std::lock_guard holds(lock_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::enqueue(std::function<void()> task) {
  const std::lock_guard holds(lock_);
  if (captures_) {
    captured_.push_back(std::move(task));
    return;
  }
  tasks_.push_back(std::move(task));
  ++enqueued_;
  changed_.notify_all();
}

void Stream::synchronize() {
  std::unique_lock holds(lock_);
  changed_.wait(holds, [&, until = enqueued_] { return done_ >= until; });
}

void Stream::begin_capture() {
  const std::lock_guard holds(lock_);
  captures_ = true;
  captured_.clear();
}

bool Stream::captures() const {
  const std::lock_guard holds(lock_);
  return captures_;
}

std::deque<std::function<void()>> Stream::end_capture() {
  const std::lock_guard holds(lock_);
  captures_ = false;
  return std::move(captured_);
}

void Stream::run() {
  for (std::unique_lock holds(lock_);;) {
    changed_.wait(holds, [&] { return leaving_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    holds.unlock();
    task();
    holds.lock();
    ++done_;
    changed_.notify_all();
  }
}

Stream& stream_of(void* handle) {
  if (handle == cudaStreamPerThread) {
    thread_local Stream own;
    return own;
  }
  static Stream default_stream;
  return handle == nullptr || handle == cudaStreamLegacy ? default_stream : *static_cast<Stream*>(handle);
}

void synchronize_all() {
  std::vector<Stream*> streams;
  {
    const std::lock_guard holds(all_lock);
    streams = all_streams;
  }
  for (Stream* stream : streams) stream->synchronize();
}

void Event::record(Stream& stream) {
  std::uint64_t number = 0;
  {
    const std::lock_guard holds(state_->lock);
    number = ++state_->recorded;
  }
  stream.enqueue([state = state_, number] {
    const std::lock_guard holds(state->lock);
    state->passed = std::max(state->passed, number);
    state->changed.notify_all();
  });
}

bool Event::passed() const {
  const std::lock_guard holds(state_->lock);
  return state_->passed == state_->recorded;
}

std::function<void()> Event::waiting() const {
  const std::lock_guard holds(state_->lock);
  return [state = state_, number = state_->recorded] {
    std::unique_lock waits(state->lock);
    state->changed.wait(waits, [&] { return state->passed >= number; });
  };
}

}  // namespace rondo::test::made_up

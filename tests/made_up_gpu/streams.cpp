#include "made_up_gpu/streams.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace rondo::test::made_up {
namespace {

std::mutex all_lock;
auto& all_streams = *new std::vector<std::shared_ptr<Stream>>;  // never destroyed: threads that end a rank may outlive main()

}  // namespace

/// Threads that live as long as the process.
class Connection {
 public:
  Connection() { std::thread([this] { run(); }).detach(); }
  void enqueue(Stream& stream, std::uint64_t before, Task task) {
    const std::lock_guard holds(lock_);
    tasks_.push_back({&stream, before, std::move(task)});
    changed_.notify_all();
  }

 private:
  struct Entry {
    Stream* stream;
    std::uint64_t before;  ///< tasks of its stream
    Task task;
  };

  void run() {
    for (std::unique_lock holds(lock_);;) {
      changed_.wait(holds, [&] { return !tasks_.empty(); });
      Entry entry = std::move(tasks_.front());
      tasks_.pop_front();
      holds.unlock();
      entry.stream->await_end_of(entry.before);
      const auto end = [](Entry& ended) {
        ended.task.work();
        ended.stream->end_one();
      };
      if (entry.task.kernel) std::thread([end, kernel = std::move(entry)]() mutable { end(kernel); }).detach();
      else end(entry);
      holds.lock();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Entry> tasks_;
};

namespace {

/// Streams take them in turn. As many as CUDA makes: 8, if not told otherwise.
Connection& next_connection() {
  static std::vector<Connection*>& all = *[] {
    const char* set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    auto* made = new std::vector<Connection*>;
    for (int k = 0; k < std::clamp(set != nullptr ? std::atoi(set) : 8, 1, 32); ++k) made->push_back(new Connection);
    return made;
  }();
  static std::atomic<std::size_t> next{0};
  return *all[next.fetch_add(1, std::memory_order_relaxed) % all.size()];
}

}  // namespace

Stream::Stream(int on) : gpu(on), connection_(next_connection()) {}

int& current_gpu() {
  thread_local int gpu = 0;
  return gpu;
}

Stream& make_stream(int gpu) {
  const std::lock_guard holds(all_lock);
  all_streams.push_back(std::make_shared<Stream>(gpu));
  return *all_streams.back();
}

void destroy_stream(Stream& stream) {
  stream.synchronize();
  const std::lock_guard holds(all_lock);
  std::erase_if(all_streams, [&](const auto& each) { return each.get() == &stream; });
}

void Stream::enqueue(Task task) {
  const std::lock_guard holds(lock_);
  if (captures_) captured_.push_back(std::move(task));
  else connection_.enqueue(*this, enqueued_++, std::move(task));
}

void Stream::synchronize() {
  std::unique_lock holds(lock_);
  changed_.wait(holds, [&, until = enqueued_] { return done_ >= until; });
}

void Stream::await_end_of(std::uint64_t number) {
  std::unique_lock holds(lock_);
  changed_.wait(holds, [&] { return done_ >= number; });
}

void Stream::end_one() {
  const std::lock_guard holds(lock_);
  ++done_;
  changed_.notify_all();
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

Tasks Stream::end_capture() {
  const std::lock_guard holds(lock_);
  captures_ = false;
  return std::move(captured_);
}

Stream& stream_of(void* handle) {
  struct Own {
    Stream& stream = make_stream(current_gpu());
    ~Own() { destroy_stream(stream); }
  };
  if (handle == cudaStreamPerThread) {
    thread_local Own own;
    return own.stream;
  }
  static Stream& default_stream = make_stream(0);
  return handle == nullptr || handle == cudaStreamLegacy ? default_stream : *static_cast<Stream*>(handle);
}

void synchronize_all() {
  std::vector<std::shared_ptr<Stream>> streams;  // some may be destroyed meanwhile
  {
    const std::lock_guard holds(all_lock);
    streams = all_streams;
  }
  for (const auto& stream : streams) stream->synchronize();
}

void Event::record(Stream& stream) {
  std::uint64_t number = 0;
  {
    const std::lock_guard holds(state_->lock);
    number = ++state_->recorded;
  }
  stream.enqueue({[state = state_, number] {
    const std::lock_guard holds(state->lock);
    state->passed = std::max(state->passed, number);
    state->changed.notify_all();
  }});
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

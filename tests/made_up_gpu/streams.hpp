// Streams of a made-up GPU. What is enqueued on one is done one thing after the other; and as on a real one streams share few connections, each of which takes
// what is enqueued on its streams in that order: what can't begin yet, since its stream is busy or waits, holds up all that stands behind it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace rondo::test::made_up {

/// Something to be done on a stream. A kernel leaves its connection to others while it runs.
struct Task {
  std::function<void()> work;
  bool kernel = false;
};
using Tasks = std::deque<Task>;

class Connection;

class Stream {
 public:
  explicit Stream(int on);
  const int gpu;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void enqueue(Task task);
  void synchronize();

  /// From now on enqueue() only takes note of its tasks; until they are fetched.
  void begin_capture();
  bool captures() const;
  Tasks end_capture();

  void await_end_of(std::uint64_t number);  ///< for its connection: of so many of its tasks
  void end_one();                           ///< likewise: a task has ended

 private:
  Connection& connection_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  Tasks captured_;
  std::uint64_t enqueued_ = 0, done_ = 0;
  bool captures_ = false;
};

Stream& make_stream(int gpu);
/// Once all that was enqueued is done.
void destroy_stream(Stream& stream);

/// What a cudaStream_t stands for: a stream, this thread's (cudaStreamPerThread), or the default one.
Stream& stream_of(void* handle);

/// This thread's current GPU.
int& current_gpu();

/// All streams of this process.
void synchronize_all();

/// Points in streams. One that was never recorded has been passed.
class Event {
 public:
  void record(Stream& stream);
  bool passed() const;
  /// What waits until the last recording has been passed.
  std::function<void()> waiting() const;

 private:
  struct State {
    std::mutex lock;
    std::condition_variable changed;
    std::uint64_t recorded = 0, passed = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace rondo::test::made_up

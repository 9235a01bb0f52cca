// Streams of a made-up GPU: each does what is enqueued on it, one thing after the other, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace rondo::test::made_up {

class Stream {
 public:
  Stream();
  ~Stream();  ///< after all that was enqueued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void enqueue(std::function<void()> task);
  void synchronize();

  /// From now on enqueue() only takes note of its tasks; until they are fetched.
  void begin_capture();
  bool captures() const;
  std::deque<std::function<void()>> end_capture();

 private:
  void run();
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_, captured_;
  std::uint64_t enqueued_ = 0, done_ = 0;
  bool leaving_ = false, captures_ = false;
  std::thread thread_;
};

/// What a cudaStream_t stands for: a stream, this thread's (cudaStreamPerThread), or the default one.
Stream& stream_of(void* handle);

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

// Calls of ranks that share a GPU as processes, whose kernels never run side by side: a thread on the host starts a call's rounds, and ranks come together on
// the host between them; messages it starts again and again, since only their two ends know of them. The caller's stream waits for a word of the
// host's. docs/design/0020-device-executor.md.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "communicator/cuda/device_plans.hpp"
#include "communicator/cuda/memory.hpp"
#include "device/messages.hpp"
#include "device/words.hpp"
#include "rondo/communicator.hpp"

namespace rondo {

/// Whether streams of the current device can wait for a word; the error says what is missing.
Result<void> streams_can_wait();

class Turns {
 public:
  /// `host` is this one's alone as long as it lives, but for abort(). The current device is the rank's.
  static Result<std::unique_ptr<Turns>> make(Communicator& host, device::HostWords& words, int device);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// The call begins once `stream` has come here, and the stream goes on when it has ended or failed. Its plan has to stay.
  Result<void> enqueue(const DeviceCall& call, cudaStream_t stream);
  /// Likewise; the plans' arrays have to stay.
  Result<void> enqueue(const device::Exchange& exchange, const std::vector<device::Message>& messages, cudaStream_t stream);

  /// Why calls have ended, if not well. Thread-safe.
  std::optional<Error> failure() const;
  /// Calls that haven't ended do, with an error, once `host` is aborted, too. Thread-safe.
  void stop();
  /// Whether all calls end before then.
  bool end_before(std::chrono::steady_clock::time_point deadline);

 private:
  struct Exchanged {
    device::Exchange exchange;
    std::vector<device::Message> messages;
  };
  struct Work {
    std::variant<DeviceCall, Exchanged> call;
    CudaEvent ready;  ///< the stream has come to the call
    std::uint64_t number = 0;
  };

  Turns(Communicator& host, device::HostWords& words, int device) : host_(host), words_(words), device_(device) {}
  void run();
  void do_all();
  Result<void> enqueue(std::variant<DeviceCall, Exchanged> call, cudaStream_t stream);
  Result<void> carry_out(const Work& work);
  Result<void> run_rounds(const DeviceCall& call, std::uint64_t number);
  Result<void> run_round(const DeviceCall& call, std::uint32_t round, std::uint64_t number);
  Result<void> agree_on(const DeviceCall& call, std::uint64_t number);
  Result<void> run_exchange(const Exchanged& call);
  Result<void> go_on(const Exchanged& call);
  Result<void> wait_for(cudaEvent_t event) const;
  Result<void> wait_for_round();
  void say_done(std::uint64_t number);

  Communicator& host_;
  device::HostWords& words_;
  const int device_;
  CudaStream stream_;       ///< of the rounds
  CudaEvent round_end_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Work> queue_;           // under lock_, as what follows
  std::uint64_t enqueued_ = 0;
  std::uint64_t ended_ = 0;
  bool leaving_ = false;
  bool running_ = false;    ///< the thread, from before it is started on
  std::optional<Error> failure_;
};

}  // namespace rondo

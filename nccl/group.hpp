// What a thread collects between ncclGroupStart() and ncclGroupEnd(): ranks to be made, and calls.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "communicator.hpp"
#include "failure.hpp"

namespace rondo::nccl {

/// A collective, or a message.
struct Enqueued {
  enum class Kind : std::uint8_t { collective, send, recv };

  Shared comm;
  Kind kind = Kind::collective;
  Call call = {};          ///< a message's buffer is its input, or output
  std::uint32_t peer = 0;  ///< of a message
  cudaStream_t stream = nullptr;
};

/// Of one thread.
class Group {
 public:
  static Group& of_this_thread();

  void begin() { ++depth_; }
  ncclResult_t end();

  /// Runs it now, or when the group ends. Works on several ranks of one thread, which wait for one another, get threads of their own.
  ncclResult_t make(std::function<Result<void>()> work);
  ncclResult_t enqueue(Enqueued call);

  /// What is wrong with an argument of a call: nothing of its group is run then.
  ncclResult_t refuse(ncclResult_t result, std::string words);

 private:
  std::uint32_t depth_ = 0;
  std::vector<std::function<Result<void>()>> works_;
  std::vector<Enqueued> calls_;
  ncclResult_t refused_ = ncclSuccess;
};

/// Group::refuse() of this thread's.
inline ncclResult_t refuse(ncclResult_t result, std::string words) { return Group::of_this_thread().refuse(result, std::move(words)); }
inline ncclResult_t refuse(const Error& error) { return refuse(result_of(error.code), to_string(error)); }

}  // namespace rondo::nccl

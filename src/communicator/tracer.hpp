// Recording what calls do, while someone asked for it: which plans they ran, and their steps with times.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "communicator/operation.hpp"
#include "executor/trace_buffer.hpp"
#include "rondo/trace.hpp"

namespace rondo {

class Tracer {
 public:
  explicit Tracer(std::uint64_t capacity) : buffer_(capacity) {}

  /// Calls of the channel so far aren't traced, the one under way included.
  void leave_out_begun(const Channel& channel) { channels_[&channel].left_out = channel.context.call; }

  /// The call that runs on the channel begins once more, by another plan.
  void begin_again(const Channel& channel) { channels_[&channel].run.call = 0; }

  /// Run::advance with a record of what it did. Needs the communicator's token.
  Progress advance(Channel& channel, Operation& operation, std::uint32_t spins);

  /// What was recorded on rank `rank`. The last thing to be done with a tracer.
  Trace finish(std::uint32_t rank);

 private:
  struct OfChannel {
    RunTrace run;
    std::uint64_t left_out = 0;  ///< calls up to this one aren't traced
  };
  /// A plan that calls ran, to be put in words when tracing ends.
  struct Known {
    Plan plan;  ///< lowered: its steps are what runs
    std::uint32_t rank = 0;
    TracePlan words;
  };
  using Key = std::tuple<const Channel*, std::uint64_t, std::uint64_t, std::uint64_t, bool, bool>;

  std::uint32_t plan_of(const Channel& channel, const Operation& operation);

  TraceBuffer buffer_;
  std::map<const Channel*, OfChannel> channels_;
  std::map<Key, std::uint32_t> numbers_;  ///< into known_
  std::vector<Known> known_;
};

}  // namespace rondo

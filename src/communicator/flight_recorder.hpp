// The last operations of a rank, kept in a ring: cheap to write, read on failure and on request.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "executor/context.hpp"

namespace rondo {

/// A plan's name, cut to fit, so that recording never allocates.
using ShortName = std::array<char, 24>;

class FlightRecorder {
 public:
  enum class State : std::uint8_t { queued, running, done, failed };
  struct Entry {
    std::uint64_t call = 0;
    CallIdentity identity;
    ShortName algorithm;
    std::uint32_t peer = 0;      ///< point to point: the other rank + 1
    State state = State::queued;
    std::int64_t slow_ns = 0;    ///< how long it took, where its waits outlasted the spins
  };

  /// The entry to fill for the next operation; its index stays valid for the next `capacity` operations.
  std::uint32_t next() { return static_cast<std::uint32_t>(written_++ % entries_.size()); }
  Entry& at(std::uint32_t index) { return entries_[index]; }

  /// This rank's collective number `call`, while it is among the last `capacity` operations.
  std::optional<CallIdentity> collective(std::uint64_t call) const;

  /// One line an operation, oldest first.
  std::string print() const;

 private:
  std::array<Entry, 32> entries_;
  std::uint64_t written_ = 0;
};

/// "all_reduce of 1024 f32 (sum)", "broadcast of 3 i8 from rank 2".
std::string describe(const CallIdentity& identity);

}  // namespace rondo

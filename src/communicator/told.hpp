// What a rank's words in shared memory tell of it, to its peers and to who looks from outside. Nothing of it is to be trusted.
#pragma once

#include <cstdint>
#include <optional>

#include "executor/context.hpp"

namespace rondo {

struct CommunicatorParts;

/// A consistent copy of a rank's record; sequence 0 while it is being written.
struct SeenRecord {
  std::uint64_t sequence = 0;
  CallIdentity identity;
  std::uint64_t digest = 0;
};
SeenRecord read_record(const CallRecord& record);

/// A rank's wait for a signal of a member, as it says it.
struct LongWait {
  std::uint32_t member = 0;    ///< whom it waits for
  std::uint32_t lane = 0;      ///< of that member
  std::uint64_t signals = 0;   ///< so many of them, in this call
  std::uint32_t own_lane = 0;  ///< of its plan
  std::uint32_t own_step = 0;

  /// Whether a lane with that progress has given the signal.
  bool is_over(std::uint64_t call, std::uint64_t progress) const {
    return static_cast<std::int64_t>(progress - ((call << progress_call_shift) + signals)) >= 0;
  }
};
/// None when it hasn't said that it waits in this call.
std::optional<LongWait> read_long_wait(const StatusLine& status, std::uint64_t call);
void write_long_wait(StatusLine& status, std::uint64_t call, const LongWait& wait);

inline constexpr std::uint64_t identity_magic = 0x32'64'69'6f'64'6e'6f'72;  ///< "rondoid2"
/// Says whose area it is.
void introduce(const CommunicatorParts& parts, IdentityWords& identity);

}  // namespace rondo

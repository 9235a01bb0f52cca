// A call cut into rounds that need not run beside one another: what each rank's blocks do in a round waits for nothing but rounds before it.
// docs/design/0020-device-executor.md.
#pragma once

#include <cstdint>
#include <vector>

#include "device/fit.hpp"
#include "device/job.hpp"

namespace rondo::device {

/// One rank's rounds. All ranks have equally many; in some of them a rank has nothing to do.
struct Rounds {
  std::uint32_t lanes = 0;
  std::vector<LanePart> parts;  ///< by round and lane: what that lane does in that round
  std::uint32_t last = 0;       ///< the round in which this rank ends its call

  std::uint32_t count() const { return lanes == 0 ? 0 : static_cast<std::uint32_t>(parts.size() / lanes); }
  /// Whether the rank has something to do.
  bool runs(std::uint32_t round) const;
};

/// Those of rank `rank` of a group whose calls are fitted so. Errors: unsupported (an inlined plan, whose steps wait in their middle; a direct one, whose
/// blocks would have to find peers' buffers anew in each round), invalid_plan (ranks would wait for one another forever).
Result<Rounds> find_rounds(const std::vector<Fitted>& all, std::uint32_t rank);

}  // namespace rondo::device

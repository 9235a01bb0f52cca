// What two cores do to one another: a flag, and blocks that one writes and the other reads.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/result.hpp"

namespace rondo::calibration {

inline constexpr std::uint32_t pieces_of_block = 4;  ///< in which a block is moved

/// Each figure is the lower quartile of many turns, what the machine does when nothing comes in between; switch_ns a mean.
struct PairFigures {
  double latency_ns = 0;           ///< a flag, one way
  double publish_ns_per_byte = 0;  ///< a copy to where the other core has just read
  double pull_ns_per_byte = 0;     ///< a copy from where the other core has just written, while it does the same
  double fresh_pull_ns_per_byte = 0;  ///< a copy from what the other core has just written, all of which its first cache holds, while it does the same
  double past_publish_ns_per_byte = 0;  ///< a copy to where the other core has just read, past the caches
  double past_pull_ns_per_byte = 0;     ///< a copy from there
  double share_ns_per_byte = 0;    ///< what a reduction costs more whose result goes to where the other core has just read
  double reduce_ns_per_byte = 0;   ///< what a reduction of a source of one's own and one that the other core has just written costs more than copying that
  double kernel_ns_per_byte = 0;   ///< a copy by the kernel, as from another process, of what the other core has just written; 0: it doesn't
  double kernel_call_ns = 0;       ///< such a copy of a line
  double switch_ns = 0;            ///< both on processor `a`: until the other one runs after a yield
};

/// Measures between processors `a` and `b` with blocks of `bytes`, which should be a fraction of a core's own cache, that go through `slot_bytes` of
/// slots. Takes a second at most where nothing else runs. Errors: out_of_resources.
Result<PairFigures> measure_pair(std::uint32_t a, std::uint32_t b, std::uint64_t bytes, std::uint64_t slot_bytes);

/// The lower quartile of `values`, of which there is one at least.
double lower_quartile(std::vector<double> values);

/// Now, in ns.
double clock_ns();

}  // namespace rondo::calibration

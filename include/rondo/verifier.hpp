// Proves a plan, or says which rank, lane and step is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo {

enum class Fault : std::uint8_t {
  malformed,           ///< check_form rejects it
  double_contribution, ///< a rank's contribution enters a value twice
  wrong_value,         ///< a step reads something it can't mean (never written, or combines different chunks)
  postcondition,       ///< an output chunk doesn't end as the collective promises
  unmatched_message,   ///< a send without its receive or the reverse, or of different sizes
  deadlock,            ///< a cycle of waits
  race,                ///< two unordered accesses overlap and one writes
  overwritten_input,   ///< in place, an input is read as a contribution after it was overwritten
};

/// One thing that is wrong, and where. `step` and `lane` are −1 where the fault belongs to the rank as a whole.
struct Violation {
  Fault fault = Fault::malformed;
  std::int64_t rank = -1;
  std::int64_t lane = -1;
  std::int64_t step = -1;
  std::string message;
};

struct Proof {
  std::vector<Violation> violations;  ///< empty: proved. The first few; `truncated` says when there are more.
  bool truncated = false;
  std::uint32_t least_safe_depth = 0; ///< smallest slot depth at which the plan is proved; of a wrong plan, without deadlock; 0: none
  std::uint64_t chunk_steps = 0;      ///< size of the work
  bool proved() const { return violations.empty(); }
};

/// Proves, for each way of lying in memory that the header claims (out_of_place, in_place): every contribution enters
/// exactly once, the collective's post-condition, messages match in order and size, no deadlock at header.depth also over
/// repeated pieces and back-to-back calls, no two unordered overlapping accesses of which one writes. Pure, thread-safe.
/// Source: docs/design/0002-verifier.md.
Proof verify(const Plan& plan);

std::string_view to_string(Fault fault);

/// One line for a person: "race: rank 1, lane 0, step 4: ...".
std::string to_string(const Violation& violation);

}  // namespace rondo

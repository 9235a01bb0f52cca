/// @defgroup verifier Verifier
/// Proves a plan, or says which rank, lane and step is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/plan.hpp"

namespace rondo {
/// @addtogroup verifier
/// @{

/// What can be wrong with a plan.
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
  Fault fault = Fault::malformed;  ///< its kind
  std::int64_t rank = -1;          ///< whose program; −1: the plan as a whole
  std::int64_t lane = -1;          ///< which lane of it
  std::int64_t step = -1;          ///< which step of the lane
  std::string message;             ///< one line for a person
};

/// Whether the bits of a reduction depend on the plan. Plans of equal strictness give equal bits, whatever the message's size, its pieces
/// and the transport: they combine along one binary tree over the ranks' numbers (docs/design/0009-strict.md).
enum class Strictness : std::uint8_t {
  loose,     ///< it combines in an order of its own
  own_type,  ///< along the tree; partial results are stored, which rounds those of types that accumulate in a wider one (f16, bf16)
  any_type,  ///< along the tree, each result in one step; and whatever combines nothing
};

/// What verify() found out.
struct Proof {
  std::vector<Violation> violations;  ///< empty: proved. The first few; `truncated` says when there are more.
  bool truncated = false;             ///< there are more violations
  std::uint32_t least_safe_depth = 0; ///< smallest slot depth at which the plan is proved; of a wrong plan, without deadlock; 0: none
  std::uint64_t chunk_steps = 0;      ///< size of the work
  bool by_symmetry = false;           ///< one rank's program was enough (docs/design/0017-symmetric-plans.md)
  Strictness strictness = Strictness::any_type;  ///< of a plan that is proved
  std::string departure;              ///< the first step that keeps it from any_type, with its rank and lane; empty: none does
  /// Whether the plan is right.
  bool proved() const { return violations.empty(); }
};

/// Proves, for each way of lying in memory that the header claims (out_of_place, in_place): every contribution enters
/// exactly once, the collective's post-condition, messages match in order and size, no deadlock at header.depth also over
/// repeated pieces and back-to-back calls, no two unordered overlapping accesses of which one writes. Pure, thread-safe.
/// Source: docs/design/0002-verifier.md.
Proof verify(const Plan& plan);

/// Likewise, without making use of symmetries: the same answer, found more slowly.
Proof verify_in_full(const Plan& plan);

std::string_view to_string(Fault fault);            ///< "malformed", ...
std::string_view to_string(Strictness strictness);  ///< "loose", ...

/// Whether calls of this type get strict results from a plan of that strictness.
inline bool is_strict(Strictness strictness, DataType type) {
  const bool wider = type == DataType::f16 || type == DataType::bf16;
  return strictness == Strictness::any_type || (strictness == Strictness::own_type && !wider);
}

/// One line for a person: "race: rank 1, lane 0, step 4: ...".
std::string to_string(const Violation& violation);

/// @}
}  // namespace rondo

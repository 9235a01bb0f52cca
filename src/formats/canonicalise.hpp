// From a foreign format's view of memory to the plan IR's.
#pragma once

#include <vector>

#include "base/problem.hpp"
#include "rondo/plan.hpp"

namespace rondo::formats {

/// Whether some step reads or writes another rank's input or output.
bool touches_peers(const std::vector<Program>& programs);

/// Makes a plan of programs whose operands still mean what they mean in MSCCL and MSCCL++, where the input is a buffer
/// like any other. The IR's rule is that `input` is never written, so:
/// - what is written to an input chunk goes to the output chunk that shares its memory when the plan runs in place
/// alone,
///   else (and where the rank has no output) to a scratch chunk of its own; what is read there later comes from that
///   place;
/// - an output chunk read before anything was written to it, in a plan that runs in place alone, is the input.
/// Steps whose chunks go to different places are split, with all other steps, into steps of one chunk.
/// On the way it finds the root where the format doesn't say it, marks reductions that complete a value (`finish`),
/// orders the sources of each reduction by the lowest rank in them, so that ranks that combine the same things get the
/// same bits, finds a link depth that can't deadlock, and adds credits. Operands must lie inside the buffers that
/// `header` describes. Reports to `problem` and returns an empty plan if the plan is larger than the limits. A wrong
/// plan comes through; the verifier says what is wrong with it.
Plan canonicalise(PlanHeader header, std::vector<Program> programs, bool root_known, Problem& problem);

}  // namespace rondo::formats

/// @defgroup formats Plan formats
/// Plans from files, in Rondo's form and in others'.
#pragma once

#include <string>
#include <string_view>

#include "rondo/plan.hpp"

namespace rondo {
/// @addtogroup formats
/// @{

/// Reads an MSCCL XML algorithm. Error invalid_plan names element and attribute and what was expected.
Result<Plan> import_msccl_xml(std::string_view text);

/// Writes a plan as MSCCL XML. What one step of a plan does may take several of MSCCL's, and a lane several thread blocks; import reads back what does
/// the same, and of a plan that was imported that very plan. Skew is left out: MSCCL does one piece after the other.
/// Errors: invalid_plan (its form), unsupported, with what can't be said: waits for signals, peers' buffers, a wire type, or the collective.
Result<std::string> export_msccl_xml(const Plan& plan);

/// Reads an MSCCL++ JSON execution plan. What has no meaning off a GPU is refused: "not supported: op NAME at PATH".
Result<Plan> import_mscclpp_json(std::string_view text);

/// Writes a plan as an MSCCL++ JSON execution plan: signals, waits, and copies and reductions over peers' buffers. Links become scratch of the sender's,
/// and a rank that writes scratch ends when those that touch it have done with it, since calls share it. Skew is left out: what is written does one piece.
/// Import reads back what does the same; of a plan that was imported that very plan, but where steps have several destinations of different kinds (as packets'
/// have), which become several steps. A file has one way of lying in memory: separate buffers, unless the plan is for overlapping ones alone.
/// Errors: invalid_plan (its form), unsupported: a wire type, or a collective that has no name there.
Result<std::string> export_mscclpp_json(const Plan& plan);

/// What of an exported text is more than MSCCL or MSCCL++ can run, such as "MSCCL++ takes at most 64 operations a thread block, and this has up to 99". Empty:
/// nothing, or no such text. They may not look, and go wrong.
std::string exceeded_limits(std::string_view exported);

/// Reads a plan in any known form (Rondo JSON, MSCCL XML, MSCCL++ JSON), told by its content. Error: invalid_plan.
Result<Plan> import_plan(std::string_view text);

/// Reads a file that holds such a plan. Errors: io, and invalid_plan with the file's name.
Result<Plan> load_plan(const std::string& path);

/// @}
}  // namespace rondo

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

/// Reads an MSCCL++ JSON execution plan. What has no meaning off a GPU is refused: "not supported: op NAME at PATH".
Result<Plan> import_mscclpp_json(std::string_view text);

/// Reads a plan in any known form (Rondo JSON, MSCCL XML, MSCCL++ JSON), told by its content. Error: invalid_plan.
Result<Plan> import_plan(std::string_view text);

/// Reads a file that holds such a plan. Errors: io, and invalid_plan with the file's name.
Result<Plan> load_plan(const std::string& path);

/// @}
}  // namespace rondo

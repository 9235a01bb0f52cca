// How the destinations of an executable's steps are best written (docs/design/0003-cost-model.md has the measurements).
#pragma once

#include "executor/compile.hpp"

namespace rondo {

/// Marks destinations that are streamed, claimed or pulled, as `request` says of the processor. The last thing done to `executable`
/// but for setting aside what is kept.
void mark_stores(Executable& executable, const CompileRequest& request);

}  // namespace rondo

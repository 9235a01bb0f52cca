// Which steps check what they move.
#pragma once

#include "executor/compile.hpp"
#include "executor/executable.hpp"

namespace rondo {

/// Moves into slots and out of them become checked ones. Last, since how they are best done otherwise is of no account then.
void check_slots(Executable& executable, const CompileRequest& request);

}  // namespace rondo

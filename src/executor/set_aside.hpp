// Copies that nobody waits for are taken out of their lanes, and run while the rank would wait for others (docs/design/0005-executable.md).
#pragma once

#include "executor/executable.hpp"

namespace rondo {

/// Moves to `executable.kept` what a rank copies from its input to its output where it would lie in place, and no other step of its
/// touches. Of plans whose outputs no peer reads.
void set_aside_kept(Executable& executable);

}  // namespace rondo

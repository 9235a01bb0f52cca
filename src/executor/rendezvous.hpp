// Blocks of an all_to_all_v that the kernel copies from where they lie (docs/design/0007-variable-blocks.md): eager through slots, or by rendezvous.
#pragma once

#include "executor/executable.hpp"

namespace rondo {

/// A wait of a block's sender until an earlier piece has been read.
inline bool is_credit(const ExecStep& step) { return step.op == ExecOp::block_wait && !step.receives && step.lag != 0; }

/// Blocks of `from` bytes and more go by rendezvous, if every other rank says that it has read its block, as it does where slots are written again.
void allow_rendezvous(Executable& executable, std::uint64_t from);

}  // namespace rondo

// Who has entered a call when a rank has done it (docs/design/0004-slot-protocol.md, "Across calls: one rule").
#pragma once

#include <cstdint>

#include "rondo/plan.hpp"

namespace rondo {

/// Whether each rank has part in what `rank` ends with, so that all have entered by then, whoever has passed their parts on: by flags in shared memory, as of
/// plans that are lowered to the end. Of an all_to_all_v nobody knows, since its blocks may be empty.
inline bool ends_after_all_began(const PlanHeader& header, std::uint32_t rank) {
  if (header.neutral) return false;
  switch (header.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::barrier: return true;
    case Collective::reduce:
    case Collective::gather: return rank == header.root;
    case Collective::scan: return rank + 1 == header.ranks;
    case Collective::broadcast:
    case Collective::scatter:
    case Collective::all_to_all_v:
    case Collective::send_recv: break;
  }
  return false;
}

}  // namespace rondo

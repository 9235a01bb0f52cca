// How many slots are worth having.
#pragma once

#include <cstdint>

#include "rondo/types.hpp"

namespace rondo {

/// Bytes of slots that calls of a collective take in turn, in each half, where the machine's figure is `ring_bytes`. A long rooted call touches a byte of the
/// caller's memory for each byte of a slot, others two or three, and so lines leave the caches more slowly there (docs/design/0004-slot-protocol.md).
inline std::uint64_t ring_bytes_of(Collective collective, std::uint64_t ring_bytes) { return is_rooted(collective) ? ring_bytes / 2 * 3 : ring_bytes; }

}  // namespace rondo

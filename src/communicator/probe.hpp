// How long a flag takes from one rank to another, here and now.
#pragma once

#include <cstdint>

#include "executor/slot_layout.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// Ranks 0 and size − 1 bounce a flag through their segments' last lane; the other ranks return at once. Rank 0 gets the one-way time in
/// ns, or 0 where it can't be told (no answer in time, or so long that a scheduler must have been in between); all others get 0.
/// Virtual machines move between near and far cores, so a class default would be stale. Takes a millisecond or less.
double probe_latency_ns(Transport& transport, const ContextLayout& layout, std::uint32_t rank, std::uint32_t size);

}  // namespace rondo

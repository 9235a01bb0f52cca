// The timeline of a run: what --trace writes.
#pragma once

#include "options.hpp"
#include "rondo/communicator.hpp"

/// How many events there is room for in the traced calls of one measurement, on each rank.
inline constexpr std::uint64_t timeline_events = 1u << 16;

/// Every rank's events into options.trace_file, which rank 0 writes; it says how many there are and of whom some were dropped. Collective.
/// Goes by messages, since the plan of a collective may be a wrong one. Errors: io; as Communicator::send().
rondo::Result<void> write_timeline(rondo::Communicator& communicator, const Options& options, const rondo::Trace& trace);

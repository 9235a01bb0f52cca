// How a rank's share of the shared memory becomes areas: one for the collectives, one for each direction of each pair that sends.
#pragma once

#include "executor/slot_layout.hpp"
#include "rondo/planner.hpp"

namespace rondo {

/// Areas are whole pages.
inline constexpr std::uint64_t area_page = 4096;

/// The least share that main_layout can work with: every collective of every size runs in it, if slowly.
std::uint64_t least_share();

/// The part of a rank's segment that serves collectives, when its share of the shared memory is `share_bytes`, at least
/// least_share(). All of it is within the share. A small share has fewer lanes and inline lines, else they would be all of it.
ContextLayout main_layout(std::uint64_t share_bytes);

/// The part of a rank's segment that serves one direction of a pair of `ranks` ranks whose shares are `share_bytes`. It is not
/// within the share: few pairs ever send, and each takes its memory when it does.
ContextLayout pair_layout(std::uint64_t share_bytes, std::uint32_t ranks);

/// Where in it the rank's board (board.hpp) is: behind its collectives' area and an area for each direction of each pair.
std::uint64_t board_offset(const ContextLayout& main, const ContextLayout& pair, std::uint32_t ranks);

/// The part of a rank's segment that a communicator of `ranks` ranks with such shares takes: all these, and the page for last words, which comes last.
std::uint64_t segment_bytes(std::uint64_t share_bytes, std::uint32_t ranks);

/// Address space of a rank's segment for the communicators that are split from the first one.
inline constexpr std::uint64_t room_for_children = std::uint64_t{256} << 20;

/// What one call of a plan may use of such a context.
PlanLimits limits_of(const ContextLayout& layout);

}  // namespace rondo

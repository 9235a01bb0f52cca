// The channels of a communicator: memory, plans and queue of its collectives, and of each direction of each pair that sends.
#pragma once

#include "communicator/impl.hpp"

namespace rondo {

/// The channel of the collectives. `parts` outlives it.
std::unique_ptr<Channel> make_main_channel(const CommunicatorParts& parts);

/// Whether ranks that sleep in a wait are woken by their peers' signals.
bool sleepers_are_woken(const CommunicatorParts& parts);

/// This rank's side of what `from` sends to `to`, one of which it is. Its memory is at a fixed place in each segment and taken
/// from the process's budget now. Error out_of_resources when too little is left. `parts` outlives it.
Result<std::unique_ptr<Channel>> make_pair_channel(const CommunicatorParts& parts, std::uint32_t from, std::uint32_t to);

}  // namespace rondo

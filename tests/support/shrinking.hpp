// What tests of shrink() have their ranks do.
#pragma once

#include <chrono>
#include <string>

#include "rondo/communicator.hpp"

/// An all_reduce small and large in which each rank gives its `own`; "" when both give `sum`.
std::string sums_to(rondo::Communicator& communicator, float own, float sum);

/// Calls until one fails.
rondo::Result<void> call_until_it_fails(rondo::Communicator& communicator);

/// Shrinks until the communicator made holds for its first calls: whoever dies in them is for the next shrink.
rondo::Result<rondo::Communicator> shrink_until_it_holds(rondo::Communicator& first);

/// A rank's part: `first` dies at once, `second` so long after its call has failed, while others shrink, and the rest goes on together in the end.
std::string shrinks_while_another_dies(rondo::Communicator& communicator, std::uint32_t first, std::uint32_t second, std::chrono::microseconds delay);

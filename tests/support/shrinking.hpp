// What tests of shrink() have their ranks do.
#pragma once

#include <string>

#include "rondo/communicator.hpp"

/// An all_reduce small and large in which each rank gives its `own`; "" when both give `sum`.
std::string sums_to(rondo::Communicator& communicator, float own, float sum);

/// Calls until one fails.
rondo::Result<void> call_until_it_fails(rondo::Communicator& communicator);

/// Shrinks until the communicator made holds for its first calls: whoever dies in them is for the next shrink.
rondo::Result<rondo::Communicator> shrink_until_it_holds(rondo::Communicator& first);

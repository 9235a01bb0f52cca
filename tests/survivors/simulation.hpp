// The agreement of shrink() under a simulation: ranks that crash, leave, come late, look at one another at any moment and hear what they saw out of order.
// A seed is a run, and runs again as it ran.
#pragma once

#include <cstdint>
#include <string>

namespace survivors_test {

/// What was wrong with the run of `seed`, "" when nothing was. `log`: gets a line an event.
std::string simulate(std::uint64_t seed, std::string* log = nullptr);

}  // namespace survivors_test

// What a communicator takes from its environment.
#pragma once

#include <string>

#include "base/config.hpp"

namespace rondo {

/// The names of all algorithms unless `name` is one of them or empty, else "". An algorithm that can't serve a call gives way to
/// the others, so a mistyped one would never be noticed.
std::string choices_for_algorithm(const std::string& name);

/// config(), and RONDO_ALGORITHM is known. Errors (invalid_argument) name variable, value and what would be accepted.
Result<Config> settings();

}  // namespace rondo

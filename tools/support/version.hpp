// The version of the library that a program runs with.
#pragma once

#include <string>

#include "rondo/communicator.hpp"

namespace tool_support {

/// "major.minor.patch".
inline std::string version_text() {
  const int version = rondo::version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

}  // namespace tool_support

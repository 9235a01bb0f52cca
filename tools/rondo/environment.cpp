#include <cstdio>

#include "commands.hpp"
#include "rondo/planning.hpp"

bool environment_makes_sense(const char* command) {
  const auto read = rondo::planning_options(1);
  if (read) return true;
  std::fprintf(stderr, "rondo %s: %s\n", command, to_string(read.error()).c_str());
  return false;
}

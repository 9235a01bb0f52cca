// What a comparison covers, and its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/protocol.hpp"

namespace compare {

struct Options {
  bool quick = false;
  std::vector<std::uint32_t> ranks;
  std::vector<Operation> operations;
  std::vector<Type> types;
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> libraries;
  std::vector<std::string> plans;  ///< files: each takes part as Rondo running exactly that plan
  bool barrier = false;  ///< before each call
  bool aligned = false;  ///< buffers begin with a cache line
  std::uint32_t rounds = 21;
  double block_ms = 20;  ///< aim for a block's length; one call of a large size may be longer
  std::uint32_t seed = 1;
  std::string raw;  ///< file for the raw rows, one JSON value a line
};

inline constexpr double longest_block_ms = 100;

/// The libraries that can be compared, in the order in which they are shown.
inline const std::vector<std::string> known_libraries{"rondo", "symmetric", "openmpi", "mpich", "intelmpi", "oneccl", "gloo", "floor"};

/// Reads the command line. On a wrong flag: one line on stderr that names it, exit 2. --help: exit 0.
Options parse_options(int argc, char** argv);

/// The cases of one round at a number of ranks.
std::vector<Case> cases_for(const Options& options, std::uint32_t ranks);

}  // namespace compare

// Which libraries take part, at which of their documented settings, and how their ranks are started.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace compare {

struct Participant {
  std::string library;
  std::string setting;      ///< short name
  std::string description;  ///< the flags and variables that make the setting
  std::uint32_t ranks = 2;
  bool launcher = false;  ///< one process (mpirun) starts all ranks; else each rank is started by the coordinator
  std::vector<std::string> command;  ///< launcher and program with their flags
  std::vector<std::pair<std::string, std::string>> environment;
};

/// The participants for the named libraries. A library whose program was not built is left out with a line in `notes`.
/// `programs` is the folder of the compare_* programs.
std::vector<Participant> make_participants(const std::vector<std::string>& libraries, const std::vector<std::string>& plans, std::uint32_t ranks,
                                           const std::string& programs, std::vector<std::string>& notes);

}  // namespace compare

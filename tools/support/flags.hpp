// Flags that say what they accept, and one line on a command line that can't be used: every program's.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace tool_support {

/// Checks of a flag's value. What they say otherwise names the value and the range; names of the flag come from explain().
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
CLI::Validator decimal_number(double least, double most);

/// What is wrong, in one line without its end: the subcommand, if there are any, the flag by all its names, the value, and what
/// would be accepted.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

/// Parses; true: go on. False: the program should end with `status`, 0 after --help and --version, 2 after a wrong flag, which
/// has been explained on stderr under the program's name.
bool parse(CLI::App& app, int argc, char** argv, const char* program, int& status);

}  // namespace tool_support

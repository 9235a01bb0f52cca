// Flags that say what they accept, and the lines on command lines and variables that can't be used.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

/// Checks of a flag's value. What they say otherwise names the value and the range.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
CLI::Validator decimal_number(double least, double most);

/// What is wrong with the command line, in one line without its end: command, flag by all its names, value, what would be accepted.
std::string explain(const CLI::App& app, const CLI::ParseError& wrong);

/// Whether the RONDO_ variables make sense; if not, says on stderr which doesn't, as `rondo COMMAND`.
bool environment_makes_sense(const char* command);

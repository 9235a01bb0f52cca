// The subcommands of `rondo`: each file of this folder adds one.
#pragma once

#include <CLI/CLI.hpp>

/// Each adds its subcommand to `app`. When the subcommand ran, `status` holds the program's exit code: 0 done, 1 the answer
/// is no (verify) or not well (doctor), 2 the input can't be used; what was wrong has been said on stderr in one line.
void add_topo(CLI::App& app, int& status);
void add_plan(CLI::App& app, int& status);
void add_verify(CLI::App& app, int& status);
void add_convert(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_calibrate(CLI::App& app, int& status);
void add_inspect(CLI::App& app, int& status);

/// Whether the RONDO_ variables make sense; if not, says on stderr which doesn't, as `rondo COMMAND`.
bool environment_makes_sense(const char* command);

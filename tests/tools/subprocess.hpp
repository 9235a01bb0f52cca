// Runs a program as its users do: arguments and environment in, exit code and what it wrote out.
#pragma once

#include <string>
#include <vector>

struct Finished {
  int code = -1;  ///< exit code; 128 + signal when a signal ended it; -1 when it outlasted its time
  std::string out, err;
};

/// Whether the system lets a program start processes: `refused` is what a full table of processes does.
enum class Forks { allowed, refused };

/// Runs `words[0]` with the rest as arguments and `settings` ("NAME=value") on top of this process's environment.
/// Kills it with all its children after `seconds`.
Finished run(const std::vector<std::string>& words, const std::vector<std::string>& settings = {}, int seconds = 120, Forks forks = Forks::allowed);

/// "" when the program refused its input as it should: exit code 2, and one line on stderr that has all of `words`.
std::string refusal(const Finished& finished, const std::vector<std::string>& words);

/// Whether the text has that word.
bool contains(const std::string& text, const std::string& word);

/// The programs of this build.
std::string rondo_program();
std::string bench_program();

/// A file of this test process alone, gone with it; returns its path. `name` keeps its ending.
std::string write_file(const std::string& name, const std::string& text);

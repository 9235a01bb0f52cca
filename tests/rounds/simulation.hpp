// Whole jobs that meet and go through rounds, simulated: src/bootstrap's attendance, approach and rounds of every rank, and between them a network whose
// connections are slow by chance, each for itself. Attempts to connect are lost, connections break, ranks crash or stop.
#pragma once

#include <cstdint>
#include <string>

struct Job {
  std::uint32_t ranks = 2;
  std::uint32_t fan_out = 1;
  std::uint64_t seed = 0;
  double lost_attempts = 0;    ///< how many of them
  std::uint32_t crashes = 0;   ///< of ranks, at any moment
  std::uint32_t stopped = 0;   ///< ranks that from some moment on do nothing more, and hold their connections
  std::uint32_t cut = 0;       ///< ranks of which a connection breaks some time
};

/// A job of at most so many ranks whose every trait follows from the seed.
Job random_job(std::uint64_t seed, std::uint32_t most_ranks);

struct Outcome {
  std::string wrong;             ///< what a rank did that it must not; empty: nothing
  std::uint32_t well = 0;        ///< ranks that went through all rounds
  std::uint32_t failed = 0;      ///< those with an error
  std::uint64_t events = 0;
};

Outcome simulate(const Job& job);

/// Says what `job` is, for a failing test.
std::string text_of(const Job& job);

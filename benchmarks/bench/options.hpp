// What the command line of rondo-bench says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rondo/types.hpp"

struct Options {
  rondo::Collective collective = rondo::Collective::all_reduce;
  std::uint32_t ranks = 0;            ///< local ranks to start; 0: this process is one rank of a launcher's job
  bool threads = false;               ///< ranks are threads of one process
  bool bind = true;
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = 64u << 20;
  std::uint64_t step_bytes = 0;       ///< additive step; 0: multiply by factor
  double factor = 2;
  std::uint32_t iterations = 0;       ///< 0: as many as make a steady measurement
  std::optional<std::uint32_t> warmup;  ///< iterations before the clock starts; none: until memory and caches have settled
  bool check = true;
  rondo::DataType type = rondo::DataType::f32;
  rondo::ReduceOp op = rondo::ReduceOp::sum;
  std::uint32_t root = 0;
  std::string plan_file;
  bool unverified = false;
  double deadline_s = 60;
  std::string algorithm;
  std::string transport;
  bool touch = false;
  bool symmetric = false;             ///< buffers that peers map
  bool percentiles = false;
  std::string json_file;
  std::string trace_file;             ///< empty: nothing is traced
};

/// Parses the command line. Empty: the program should end with `status` (help, version, or a wrong flag, already explained).
std::optional<Options> parse_options(int argc, char** argv, int& status);

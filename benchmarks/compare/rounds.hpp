// The measurement itself: blocks of all participants in turns, each between two measurements of the 8-byte floor.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compare/cpu_watch.hpp"
#include "compare/fleet.hpp"
#include "compare/options.hpp"

namespace compare {

/// All rounds at one number of ranks. Rows go to `raw`, one JSON value a line:
/// {"kind": "lacks" | "check" | "block" | "round", ...}; what they mean is in benchmarks/compare/report.py.
class Rounds {
 public:
  /// `fleet`: all participants at this number of ranks. `probe`: its only participant is the floor at 2 ranks.
  Rounds(const Options& options, std::uint32_t ranks, Fleet& fleet, Fleet& probe, std::FILE* raw);
  /// Returns early, between two blocks, once `stop` is set.
  void run(const volatile std::sig_atomic_t& stop);

 private:
  /// One participant in one case.
  struct Entry {
    std::size_t participant;
    bool serves = true;
    double ns = 0;  ///< usual time of an operation, from which the next block's length follows
    std::vector<double> times;
  };
  struct Row {
    Case what;
    std::vector<Entry> entries;
  };

  void check(Row& row);
  void calibrate(const Row& row, Entry& entry);
  void measure_round(std::uint32_t round, const volatile std::sig_atomic_t& stop);
  void measure_entry(const Row& row, Entry& entry, std::uint32_t round);
  void keep_best_settings();
  double probe_ns();
  nlohmann::ordered_json about(const char* kind, const Case& what, const Entry& entry) const;
  void write(const nlohmann::ordered_json& line);
  Command block_command(const Case& what, double ns) const;
  bool releases(const Case& what) const;
  void progress(std::uint32_t round, const CpuShares& shares) const;

  const Options& options_;
  std::uint32_t ranks_;
  Fleet& fleet_;
  Fleet& probe_;
  std::FILE* raw_;
  CpuWatch watch_;
  std::mt19937_64 random_;
  std::vector<Row> rows_;
  std::uint64_t keep_bytes_ = 0;  // buffers up to this size stay allocated
  double last_probe_ns_ = 0;
};

}  // namespace compare

// bench_predict: what the cost model says of every algorithm, operation, size and number of ranks against what is measured in the same
// minutes, and what the choices made by it lose. tools/predict builds and runs it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "recording.hpp"
#include "report.hpp"
#include "rondo/calibration.hpp"
#include "rondo/planner.hpp"
#include "rondo/topology.hpp"
#include "tools/support/flags.hpp"

namespace {

using namespace predict;
using rondo::Collective;

struct Options {
  std::vector<std::uint32_t> ranks{2};
  std::vector<std::string> ops{"all_reduce", "broadcast", "reduce", "reduce_scatter", "all_gather", "all_to_all", "gather", "scatter"};
  std::vector<std::string> sizes{"64", "1K", "16K", "64K", "256K", "1M", "4M", "16M"};
  std::uint32_t rounds = 5;
  Settings settings;
  bool all_modes = false;
  bool quiet = false;
  std::string json;
  std::vector<std::string> replay;
  double most_regret = 0, most_error = 0;  ///< 0: nothing is demanded; the error in percent
};

int fail(const rondo::Error& error, int status = 1) {
  std::fprintf(stderr, "bench_predict: %s\n", rondo::to_string(error).c_str());
  return status;
}

rondo::Result<std::uint64_t> bytes_of(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit(end);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : -1;
  if (end == text.c_str() || shift < 0 || number == 0 || number > (std::uint64_t{1} << 34 >> shift))
    return rondo::Error{rondo::Errc::invalid_argument, "--sizes: '" + text + "'; accepted: 1 to 16384M, with K or M for powers of 1024"};
  return number << shift;
}

rondo::Result<std::vector<Case>> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const std::string& name : options.ops) {
    const auto collective = rondo::parse_collective(name);
    if (!collective) return collective.error();
    for (const std::string& size : options.sizes) {
      auto bytes = bytes_of(size);
      if (!bytes) return bytes.error();
      cases.push_back({*collective, *bytes});
      if (*collective == Collective::barrier) break;
    }
  }
  return cases;
}

std::string processor_of(const rondo::Topology& machine) {
  for (const rondo::Node& node : machine.nodes)
    if (node.kind == rondo::NodeKind::package) return node.detail;
  return {};
}

/// What is measured at one number of ranks, one after the other.
std::vector<Settings> settings_of(const Options& options, std::uint32_t ranks) {
  Settings settings = options.settings;
  settings.ranks = ranks;
  if (!options.all_modes) return {settings};
  std::vector<Settings> modes;
  for (const bool touched : {false, true})
    for (const bool in_place : {false, true}) {
      settings.touched = touched;
      settings.in_place = in_place;
      modes.push_back(settings);
    }
  return modes;
}

void print_parameters(const rondo::CostModel& cost, std::uint32_t ranks) {
  std::printf("%zu parameters at %u ranks:\n", cost.sources.size(), ranks);
  for (const std::string& source : cost.sources) std::printf("  %s\n", source.c_str());
}

/// Measured with `cost`, the figures that the model begins with here. Choices are those of communicators, which replace what they probe.
rondo::Result<Recording> record(const rondo::Topology& machine, const rondo::CostModel& cost, const Settings& settings, const std::vector<Case>& cases,
                                std::uint32_t count) {
  std::vector<Round> rounds;
  for (std::uint32_t k = 0; k < count; ++k) {
    auto round = run_round(settings, cases);
    if (!round) return round.error();
    rounds.push_back(std::move(*round));
  }
  std::vector<Line> lines = lines_of(cases, rounds);
  const auto predicted = asked(machine, cost, settings, lines);
  if (!predicted) return predicted.error();
  for (std::size_t k = 0; k < lines.size(); ++k) lines[k].predicted_ns = (*predicted)[k].predicted_ns;
  return Recording{processor_of(machine), settings, cost.core, cost.cores_per_rank, cost.own_cache_bytes, cost.cache_bytes, cost.ring_bytes, std::move(lines)};
}

Summary show(const Options& options, const Settings& settings, const std::vector<Line>& lines) {
  if (!options.quiet) print(settings, lines);
  const Summary summary = summarise(lines);
  print(settings, summary);
  return summary;
}

/// Nothing is measured.
int replay_all(const Options& options) {
  const char* worse = nullptr;
  for (const std::string& path : options.replay) {
    const auto recordings = read_recordings(path);
    if (!recordings) return fail(recordings.error());
    for (const Recording& recording : *recordings) {
      const auto lines = replay(recording);
      if (!lines) return fail(lines.error());
      std::printf("%s: %s\n", path.c_str(), recording.machine.c_str());
      const Summary summary = show(options, recording.settings, *lines);
      if (options.most_regret > 0 && !(summary.regret <= options.most_regret)) worse = "--most-regret: choices lost more";
      if (options.most_error > 0 && !(100 * summary.error <= options.most_error)) worse = "--most-error: predictions were farther off";
    }
  }
  if (worse != nullptr) std::fprintf(stderr, "bench_predict: %s in the geometric mean\n", worse);
  return worse != nullptr ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  using tool_support::whole_number;
  Options options;
  CLI::App app{"Predicted against measured times of every algorithm, and what the choices by prediction lose."};
  app.add_option("--ranks", options.ranks, "numbers of ranks, each a process")->delimiter(',')->check(whole_number(2, 64))->capture_default_str();
  app.add_option("--ops", options.ops, "collectives")->delimiter(',')->capture_default_str();
  app.add_option("--sizes", options.sizes, "bytes of the larger buffer")->delimiter(',')->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds; medians are taken over them")->check(whole_number(1, 1000))->capture_default_str();
  app.add_option("--batch-ms", options.settings.batch_ms, "time of one of the five batches a round")
      ->check(tool_support::decimal_number(0.01, 1000))
      ->capture_default_str();
  auto* in_place = app.add_flag("--in-place", options.settings.in_place, "calls in place");
  auto* touch = app.add_flag("--touch", options.settings.touched, "owners rewrite their buffers between calls");
  app.add_flag("--all-modes", options.all_modes, "out of place and in place, without and with --touch")->excludes(in_place)->excludes(touch);
  app.add_flag("--symmetric", options.settings.symmetric, "buffers that peers map");
  app.add_flag("--quiet", options.quiet, "summaries alone");
  app.add_option("--json", options.json, "write all to this file, which --replay reads");
  app.add_option("--replay", options.replay, "measure nothing: ask the model again of what such files hold")->delimiter(',')->check(CLI::ExistingFile);
  app.add_option("--most-regret", options.most_regret, "of --replay: fail where the geometric mean of a file's regrets is more (0: never)")
      ->check(tool_support::decimal_number(0, 1000));
  app.add_option("--most-error", options.most_error, "of --replay: fail where the geometric mean of a file's errors is more percent (0: never)")
      ->check(tool_support::decimal_number(0, 1e6));
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "bench_predict", status)) return status;
  if (!options.replay.empty()) return replay_all(options);
  const auto cases = cases_of(options);
  if (!cases) return fail(cases.error(), 2);
  std::vector<Recording> recordings;
  const auto machine = rondo::discover_topology();
  if (!machine) return fail(machine.error());
  for (const std::uint32_t ranks : options.ranks) {
    const rondo::CostModel cost = rondo::cost_model(*machine, ranks, rondo::known_core_figures(*machine));
    print_parameters(cost, ranks);
    for (const Settings& settings : settings_of(options, ranks)) {
      auto recording = record(*machine, cost, settings, *cases, options.rounds);
      if (!recording) return fail(recording.error());
      show(options, settings, recording->lines);
      recordings.push_back(std::move(*recording));
    }
  }
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << write_recordings(recordings);
  if (!file.flush()) return fail({rondo::Errc::io, "cannot write " + options.json});
  return 0;
}

// rondo calibrate: what this machine's cores do, measured once and kept for all communicators of this user.
#include "rondo/calibration.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "rondo/communicator.hpp"
#include "rondo/topology.hpp"

namespace {

using namespace rondo;

int explain(const Error& error) {
  std::fprintf(stderr, "rondo calibrate: %s\n", to_string(error).c_str());
  return error.code == Errc::invalid_argument || error.code == Errc::unsupported ? 2 : 1;
}

/// What a call with one step takes: of a communicator of one rank, which moves a word and talks to nobody. The lower quartile of many turns.
Result<double> call_with_a_step_ns() {
  constexpr int turns = 40, calls = 2000;
  auto ranks = Communicator::in_process(1);
  if (!ranks) return ranks.error();
  float input = 1, output = 0;
  std::vector<double> times;
  for (int turn = 0; turn < turns; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call)
      if (auto done = ranks->front().all_reduce(&input, &output, 1, DataType::f32); !done) return done.error();
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + turns / 4, times.end());
  return times[turns / 4];
}

/// The library's figures, and what its calls take here.
Result<CoreFigures> measure(const Topology& topology) {
  const auto before = call_with_a_step_ns();
  if (!before) return before.error();
  const auto kept = load_calibration(topology);  // one that can't be used is written anew
  auto figures = calibrate(topology, kept ? *kept : std::nullopt);
  if (!figures) return figures;
  const auto after = call_with_a_step_ns();
  if (!after) return after.error();
  const double slower = (*before + *after) / 2 / (figures->call_ns + figures->step_ns);
  figures->call_ns *= slower;
  figures->step_ns *= slower;
  return figures;
}

int run(bool show) {
  if (!environment_makes_sense("calibrate")) return 2;
  const auto topology = discover_topology();
  if (!topology) return explain(topology.error());
  const auto file = calibration_file(*topology);
  if (!file) return explain(file.error());
  if (show) {
    const auto kept = load_calibration(*topology);
    if (!kept) return explain(kept.error());
    std::printf("%s\n%s: %s\n", write_core_figures(*kept ? **kept : core_figures(*topology)).c_str(), file->c_str(), *kept ? "kept" : "not there yet");
    return 0;
  }
  std::fprintf(stderr, "rondo calibrate: measuring for some seconds; let nothing else run\n");
  const auto figures = measure(*topology);
  if (!figures) return explain(figures.error());
  if (auto saved = save_calibration(*topology, *figures); !saved) return explain(saved.error());
  std::printf("%s\n%s: written\n", write_core_figures(*figures).c_str(), file->c_str());
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, int& status) {
  auto show = std::make_shared<bool>(false);  // CLI11 keeps references to it until the program has parsed its arguments
  CLI::App* calibrate = app.add_subcommand("calibrate", "Measure what this machine's cores do, and keep it for the cost model of all communicators");
  calibrate->add_flag("--show", *show, "Measure nothing; print what is kept, or else assumed");
  calibrate->callback([show, &status] { status = run(*show); });
}

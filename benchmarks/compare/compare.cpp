// The coordinator of tools/compare: starts every library's ranks, gives them turns, writes the raw rows.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/fleet.hpp"
#include "compare/options.hpp"
#include "compare/rounds.hpp"

namespace {

using compare::Fleet;

// Ends the run between two blocks, so that launchers clear away what they keep in /dev/shm.
volatile std::sig_atomic_t stop = 0;
void on_stop(int) {
  stop = 1;
}

void write_line(std::FILE* raw, const nlohmann::json& line) {
  std::fprintf(raw, "%s\n", line.dump().c_str());
  std::fflush(raw);
}

void compare_at(std::uint32_t ranks, const compare::Options& options, const std::string& programs, std::FILE* raw) {
  std::vector<std::string> notes;
  std::vector<std::string> probe_notes;
  Fleet probe(compare::make_participants({"floor"}, {}, 2, programs, probe_notes), probe_notes);
  if (probe.size() == 0 || !probe.alive(0)) {
    std::fprintf(stderr, "compare: the 8-byte floor's own ranks did not start; nothing can be told without them\n");
    std::exit(1);
  }
  Fleet fleet(compare::make_participants(options.libraries, options.plans, ranks, programs, notes), notes);
  compare::Rounds(options, ranks, fleet, probe, raw).run(stop);
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const compare::Participant& p = fleet.participant(i);
    write_line(raw, {{"kind", "participant"},
                     {"library", p.library},
                     {"setting", p.setting},
                     {"ranks", ranks},
                     {"started_as", p.description},
                     {"version", fleet.version(i)},
                     {"alive", fleet.alive(i)},
                     {"why_gone", fleet.why_gone(i)}});
  }
  for (const std::string& note : notes) {
    std::fprintf(stderr, "compare: note: %s\n", note.c_str());
    write_line(raw, {{"kind", "note"}, {"ranks", ranks}, {"text", note}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const compare::Options options = compare::parse_options(argc, argv);
  const std::string programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  std::FILE* raw = std::fopen(options.raw.c_str(), "w");
  if (raw == nullptr) {
    std::fprintf(stderr, "compare: cannot write %s\n", options.raw.c_str());
    return 2;
  }
  write_line(raw, {{"kind", "run"},
                   {"quick", options.quick},
                   {"rounds", options.rounds},
                   {"block_ms", options.block_ms},
                   {"barrier", options.barrier},
                   {"aligned", options.aligned},
                   {"seed", options.seed}});
  for (const std::uint32_t ranks : options.ranks) {
    if (stop == 0) compare_at(ranks, options, programs, raw);
  }
  std::fclose(raw);
  return stop == 0 ? 0 : 130;
}

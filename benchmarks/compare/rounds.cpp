#include "compare/rounds.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "support/median.hpp"

namespace compare {
namespace {

// --quick: after so many rounds a setting that lost to another of its library leaves the case, as does a library
// whose calls are long and far behind the best peer.
constexpr std::uint32_t qualifying_rounds = 5;
constexpr double hopeless = 3;
constexpr double long_call_ns = 20e6;
constexpr std::uint32_t alone_calls = 4;

// Four decimals: a tenth of a nanosecond of a time in µs.
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

// What the hand-written loops and other plans of Rondo are not.
bool is_peer(const std::string& library) { return library != "rondo" && library != "symmetric" && library != "plan" && library != "floor"; }

}  // namespace

Rounds::Rounds(const Options& options, std::uint32_t ranks, Fleet& fleet, Fleet& probe, std::FILE* raw)
    : options_(options),
      ranks_(ranks),
      fleet_(fleet),
      probe_(probe),
      raw_(raw),
      watch_([&] {
        std::vector<pid_t> pids = fleet.pids();
        const std::vector<pid_t> more = probe.pids();
        pids.insert(pids.end(), more.begin(), more.end());
        return pids;
      }()),
      random_(options.seed) {
  for (const Case& what : cases_for(options, ranks)) {
    Row row{what, {}};
    for (std::size_t i = 0; i < fleet.size(); ++i) row.entries.push_back({i, true, 0, {}});
    rows_.push_back(row);
  }
  // Two buffers a rank for every participant: a third of the memory at most.
  const double memory = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  keep_bytes_ =
      static_cast<std::uint64_t>(memory / 3 / 2 / ranks / static_cast<double>(std::max<std::size_t>(1, fleet.size())));
}

bool Rounds::releases(const Case& what) const {
  return what.bytes > keep_bytes_;
}

void Rounds::run(const volatile std::sig_atomic_t& stop) {
  for (Row& row : rows_) {
    if (stop == 0) check(row);
  }
  for (Row& row : rows_) {
    for (Entry& entry : row.entries) {
      if (stop == 0) calibrate(row, entry);
    }
  }
  watch_.look();
  for (std::uint32_t round = 0; round < options_.rounds && stop == 0; ++round) {
    if (options_.quick && round == qualifying_rounds) keep_best_settings();
    measure_round(round, stop);
  }
}

nlohmann::ordered_json Rounds::about(const char* kind, const Case& what, const Entry& entry) const {
  const Participant& p = fleet_.participant(entry.participant);
  return {{"kind", kind},
          {"library", p.library},
          {"setting", p.setting},
          {"collective", name_of(what.operation)},
          {"type", name_of(what.type)},
          {"ranks", ranks_},
          {"bytes", what.bytes},
          {"in_place", what.in_place != 0}};
}

void Rounds::write(const nlohmann::ordered_json& line) { std::fprintf(raw_, "%s\n", line.dump().c_str()); }

void Rounds::check(Row& row) {
  for (Entry& entry : row.entries) {
    Command command;
    command.what = row.what;
    command.kind = Command::Kind::supports;
    const std::optional<Answer> lacks = fleet_.ask(entry.participant, command);
    entry.serves = lacks && lacks->wrong == 0;
    if (lacks && !entry.serves && row.what.touch == 0) write(about("lacks", row.what, entry));
    if (!entry.serves || row.what.touch != 0) continue;
    command.kind = Command::Kind::check;
    command.release = releases(row.what) ? 1 : 0;
    const std::optional<Answer> answer = fleet_.ask(entry.participant, command);
    entry.serves = answer.has_value();
    if (!answer) continue;
    auto line = about("check", row.what, entry);
    line["wrong"] = answer->wrong;
    write(line);
  }
}

void Rounds::calibrate(const Row& row, Entry& entry) {
  if (!entry.serves) return;
  Command command;
  command.kind = Command::Kind::measure;
  command.what = row.what;
  command.warm_up = 1;
  command.iterations = 1;
  command.release = releases(row.what) ? 1 : 0;
  for (int tries = 0; tries < 4; ++tries) {  // cold first calls mislead: approach the block's length in steps
    const std::optional<Answer> answer = fleet_.ask(entry.participant, command);
    entry.serves = answer.has_value();
    if (!answer) return;
    entry.ns = std::max(10.0, answer->ns);
    // With more ranks than processors a call by itself waits until all have had their turn, which many in a row don't.
    const bool alone = command.iterations == 1 && alone_calls * entry.ns < longest_block_ms * 1e6;
    const bool enough = entry.ns * command.iterations > options_.block_ms * 1e6 / 4;
    if (enough && !alone) return;
    command.iterations = enough ? alone_calls : std::min(command.iterations * 8, block_command(row.what, entry.ns).iterations);
  }
}

// Warm-up and measured calls together last about block_ms, and over 100 ms only where a single call does.
Command Rounds::block_command(const Case& what, double ns) const {
  Command command;
  command.kind = Command::Kind::measure;
  command.what = what;
  command.release = releases(what) ? 1 : 0;
  const double touch_ns = what.touch != 0 ? 0.05 * static_cast<double>(what.bytes) + 40 : 0;
  const double barrier_ns = what.barrier != 0 ? ns : 0;  // for want of a better guess
  const double calls = options_.block_ms * 1e6 / (ns + touch_ns + barrier_ns);
  command.iterations = static_cast<std::uint32_t>(std::clamp(calls * 0.9, 1.0, 200000.0));
  command.warm_up = static_cast<std::uint32_t>(std::clamp(calls * 0.1, 1.0, 2000.0));
  if (2 * ns > longest_block_ms * 1e6 && !releases(what)) command.warm_up = 0;
  return command;
}

double Rounds::probe_ns() {
  Command command;
  command.kind = Command::Kind::measure;
  command.what.bytes = 8;
  command.warm_up = 500;
  command.iterations = 600;
  command.batches = 5;
  const std::optional<Answer> answer = probe_.ask(0, command);
  return answer ? answer->ns : 0;
}

void Rounds::measure_round(std::uint32_t round, const volatile std::sig_atomic_t& stop) {
  std::shuffle(rows_.begin(), rows_.end(), random_);
  last_probe_ns_ = probe_ns();
  for (Row& row : rows_) {
    std::shuffle(row.entries.begin(), row.entries.end(), random_);
    for (Entry& entry : row.entries) {
      if (stop != 0) return;
      if (entry.serves) measure_entry(row, entry, round);
    }
  }
  const CpuShares shares = watch_.look();
  write({{"kind", "round"}, {"ranks", ranks_}, {"round", round}, {"others", rounded(shares.others)}, {"stolen", rounded(shares.stolen)}});
  std::fflush(raw_);
  progress(round, shares);
}

void Rounds::measure_entry(const Row& row, Entry& entry, std::uint32_t round) {
  const Command command = block_command(row.what, entry.ns);
  const std::optional<Answer> answer = fleet_.ask(entry.participant, command);
  const double before = last_probe_ns_;
  last_probe_ns_ = probe_ns();
  entry.serves = answer.has_value();
  if (!answer) return;
  entry.times.push_back(answer->ns);
  entry.ns = bench_support::median(entry.times);  // one slow block doesn't make the next ones short
  auto line = about("block", row.what, entry);
  line["touch"] = row.what.touch != 0;
  line["round"] = round;
  line["time_us"] = rounded(answer->ns / 1000);
  line["iterations"] = command.iterations;
  line["floor_before_ns"] = rounded(before);
  line["floor_after_ns"] = rounded(last_probe_ns_);
  write(line);
}

void Rounds::keep_best_settings() {
  for (Row& row : rows_) {
    std::map<std::string, double> best;
    double best_peer = INFINITY;
    for (const Entry& entry : row.entries) {
      if (!entry.serves || entry.times.empty()) continue;
      const double time = bench_support::median(entry.times);
      const auto [place, added] = best.try_emplace(fleet_.participant(entry.participant).library, time);
      place->second = std::min(place->second, time);
      const std::string& library = fleet_.participant(entry.participant).library;
      if (is_peer(library)) best_peer = std::min(best_peer, time);
    }
    for (Entry& entry : row.entries) {
      if (!entry.serves || entry.times.empty()) continue;
      const double time = bench_support::median(entry.times);
      const bool beaten = time > best[fleet_.participant(entry.participant).library];
      entry.serves = !beaten && !(time > hopeless * best_peer && time > long_call_ns);
    }
  }
}

void Rounds::progress(std::uint32_t round, const CpuShares& shares) const {
  std::fprintf(stderr, "compare: %u ranks, round %u of %u", ranks_, round + 1, options_.rounds);
  if (shares.others > 0.03) {
    std::fprintf(stderr, "; WARNING: other processes used %.0f %% of the cores", 100 * shares.others);
  }
  if (shares.stolen > 0.03) std::fprintf(stderr, "; WARNING: the hypervisor took %.0f %%", 100 * shares.stolen);
  std::fprintf(stderr, "\n");
}

}  // namespace compare

#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "rondo/planner.hpp"
#include "support/median.hpp"

namespace predict {
namespace {

constexpr double two_states = 1.6;  ///< floors that are farther apart than this are of two states

/// The fastest time of a line's case.
double fastest_ns(const std::vector<Line>& lines, const Line& of) {
  double fastest = 0;
  for (const Line& line : lines)
    if (same(line, of) && (fastest == 0 || line.measured_ns < fastest)) fastest = line.measured_ns;
  return fastest;
}

/// The floor that parts the states; 0 when there is one.
double threshold(const std::vector<Round>& rounds) {
  double least = 0, most = 0;
  for (const Round& round : rounds)
    for (const auto& row : round)
      for (const Cell& cell : row) {
        if (cell.measured_ns == 0 || cell.floor_ns == 0) continue;
        least = least == 0 ? cell.floor_ns : std::min(least, cell.floor_ns);
        most = std::max(most, cell.floor_ns);
      }
  return most > two_states * least ? std::sqrt(least * most) : 0;
}

State state_of(const Cell& cell, double threshold_ns) {
  if (threshold_ns == 0) return State::only;
  return cell.floor_ns < threshold_ns ? State::near : State::far;
}

/// One case in one state. Empty when an algorithm is missing that was measured in another state: nothing can be said of choices then.
std::vector<Line> lines_of_case(const Case& what, State state, double threshold_ns, std::size_t number, const std::vector<Round>& rounds) {
  const auto names = rondo::algorithm_names();
  std::vector<Line> lines;
  std::size_t serving = 0;
  for (std::size_t algorithm = 0; algorithm < names.size(); ++algorithm) {
    std::vector<double> measured, floors;
    std::size_t chosen = 0;
    bool serves = false;
    for (const Round& round : rounds) {
      const Cell& cell = round[number][algorithm];
      serves |= cell.floor_ns < 0 || cell.measured_ns != 0;
      if (cell.measured_ns == 0 || state_of(cell, threshold_ns) != state) continue;
      measured.push_back(cell.measured_ns);
      floors.push_back(cell.floor_ns);
      chosen += cell.chosen ? 1 : 0;
    }
    serving += serves ? 1 : 0;
    if (!measured.empty())
      lines.push_back({state, what, std::string(names[algorithm]), 0, bench_support::median(measured), bench_support::median(floors), chosen});
  }
  if (lines.size() != serving) lines.clear();
  return lines;
}

std::string after_name(State state) { return state == State::only ? "" : std::string(", ") + to_string(state); }

std::string how(const Settings& settings) {
  std::string mode = settings.in_place ? "in place" : "out of place";
  if (settings.symmetric) mode = "symmetric, " + mode;
  return settings.touched ? mode + ", touched" : mode;
}

}  // namespace

const char* to_string(State state) { return state == State::only ? "only" : state == State::near ? "near" : "far"; }

bool same(const Line& a, const Line& b) { return a.state == b.state && a.what.collective == b.what.collective && a.what.bytes == b.what.bytes; }

std::vector<Line> lines_of(const std::vector<Case>& cases, const std::vector<Round>& rounds) {
  const double threshold_ns = threshold(rounds);
  std::vector<Line> lines;
  for (const State state : states)
    for (std::size_t k = 0; k < cases.size(); ++k)
      if ((state == State::only) == (threshold_ns == 0))
        for (Line& line : lines_of_case(cases[k], state, threshold_ns, k, rounds)) lines.push_back(std::move(line));
  return lines;
}

Summary summarise(const std::vector<Line>& lines) {
  Summary summary;
  double error = 0, regret = 0;
  std::vector<double> lost;  // of one case: what each round's choice did
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    const double off = std::fabs(std::log(line.ratio()));
    error += off;
    summary.largest = std::max(summary.largest, std::exp(off) - 1);
    lost.insert(lost.end(), line.chosen, line.measured_ns / fastest_ns(lines, line));
    if (k + 1 < lines.size() && same(line, lines[k + 1])) continue;
    if (lost.empty()) continue;
    const double usual = bench_support::median(std::move(lost));
    lost.clear();
    regret += std::log(usual);
    summary.worst_regret = std::max(summary.worst_regret, usual);
    summary.above += usual > most_regret ? 1 : 0;
    ++summary.choices;
  }
  summary.lines = lines.size();
  summary.error = lines.empty() ? 0 : std::exp(error / static_cast<double>(lines.size())) - 1;
  summary.regret = summary.choices == 0 ? 0 : std::exp(regret / static_cast<double>(summary.choices));
  return summary;
}

void print(const Settings& settings, const std::vector<Line>& lines) {
  std::printf("%u ranks, %s\n%-20s %10s %-20s %12s %12s %7s %7s\n", settings.ranks, how(settings).c_str(), "", "bytes", "algorithm (* chosen)", "predicted us",
              "measured us", "ratio", "to best");
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    const bool first = k == 0 || !same(lines[k - 1], line);
    std::printf("%-20s %10s %-20s %12.3f %12.3f %7.2f %7.2f\n", first ? (std::string(to_string(line.what.collective)) + after_name(line.state)).c_str() : "",
                first ? std::to_string(line.what.bytes).c_str() : "", (line.algorithm + (line.chosen != 0 ? " *" : "")).c_str(), line.predicted_ns / 1e3,
                line.measured_ns / 1e3, line.ratio(), line.measured_ns / fastest_ns(lines, line));
  }
}

void print(const Settings& settings, const Summary& summary) {
  std::printf("%u ranks, %s: %zu predictions, geometric mean error %.1f %%, largest %.0f %%; ", settings.ranks, how(settings).c_str(), summary.lines,
              100 * summary.error, 100 * summary.largest);
  std::printf("%zu choices, geometric mean regret %.3f, worst %.2f, %zu above %.1f\n", summary.choices, summary.regret, summary.worst_regret, summary.above,
              most_regret);
}

}  // namespace predict

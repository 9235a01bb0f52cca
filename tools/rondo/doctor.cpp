// rondo doctor: what this machine can do, what is missing, and what to type.
#include "rondo/doctor.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.hpp"
#include "doctor_trials.hpp"
#include "tools/support/version.hpp"

namespace {

using namespace rondo;

/// Variables may hold anything; a finding stays one line.
std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

long count(const std::vector<Finding>& findings, Verdict verdict) {
  return std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.verdict == verdict; });
}

std::string counted(long number, const std::string& thing) { return std::to_string(number) + " " + thing + (number == 1 ? "" : "s"); }

void print_text(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.check.size());
  const int columns = static_cast<int>(std::min<std::size_t>(width, 24));
  for (const Finding& finding : findings) {
    const std::string verdict(to_string(finding.verdict));
    std::printf("%-8s %-*s  %s\n", verdict.c_str(), columns, one_line(finding.check).c_str(), one_line(finding.meaning).c_str());
    if (!finding.remedy.empty()) std::printf("%*s type: %s\n", 8 + 1 + columns + 1, "", one_line(finding.remedy).c_str());
  }
  const long problems = count(findings, Verdict::problem), notes = count(findings, Verdict::note);
  if (problems == 0) std::printf("\nRondo runs here: no problem, %s\n", counted(notes, "note").c_str());
  else std::printf("\nRondo doesn't run here as it should: %s, %s\n", counted(problems, "problem").c_str(), counted(notes, "note").c_str());
}

void print_json(const std::vector<Finding>& findings) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    list.push_back({{"check", finding.check}, {"verdict", to_string(finding.verdict)}, {"meaning", finding.meaning}, {"remedy", finding.remedy}});
  const nlohmann::ordered_json report{{"version", tool_support::version_text()},
                                      {"problems", count(findings, Verdict::problem)},
                                      {"notes", count(findings, Verdict::note)},
                                      {"findings", std::move(list)}};
  // Variables may hold bytes that are no UTF-8.
  std::puts(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int show(bool json) {
  auto trials = run_trials();  // first: they fork
  MachineFacts facts = gather_machine_facts();
  facts.trials = std::move(trials);
  const auto findings = judge_machine(facts);
  if (json)
    print_json(findings);
  else
    print_text(findings);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return count(findings, Verdict::problem) == 0 ? 0 : 1;
  std::fprintf(stderr, "rondo doctor: can't write to standard output\n");
  return 2;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto json = std::make_shared<bool>(false);  // CLI11 keeps references to it until the program has parsed its arguments
  CLI::App* doctor = app.add_subcommand("doctor", "Say what this machine can do, what is missing, and what to type: exit code 0 Rondo runs, 1 a problem");
  doctor->add_flag("--json", *json, "Print {version, problems, notes, findings: [{check, verdict, meaning, remedy}]}");
  doctor->callback([json, &status] { status = show(*json); });
}

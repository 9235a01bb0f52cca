// The list of all checks, in the order in which their findings are read.
#include "rondo/doctor.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "communicator/doctor_checks.hpp"

namespace rondo {
namespace {

using namespace doctor;

constexpr std::array checks{check_library,       check_kernels,     check_calibration, check_processors,        check_memory_system, check_surroundings,
                            check_gpus,          check_open_files,  check_tasks,       check_shared_memory,     check_sizes,         check_locked_memory,
                            check_staging,       check_settings,    check_launcher,    check_foreign_variables, check_trials,        check_peers};

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names{"ok", "note", "problem"};
  return names[static_cast<std::size_t>(verdict)];
}

std::vector<Finding> judge_machine(const MachineFacts& facts) {
  std::vector<Finding> findings;
  for (const auto check : checks)
    for (Finding& finding : check(facts)) findings.push_back(std::move(finding));
  return findings;
}

std::uint32_t doctor::usable_processors(const MachineFacts& facts) { return facts.topology.usable_cpus(0); }

std::uint32_t doctor::usual_ranks(const MachineFacts& facts) { return std::max(2u, usable_processors(facts)); }

std::string doctor::counted(std::uint64_t number, std::string_view thing) {
  return std::to_string(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

std::string doctor::plain_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

}  // namespace rondo

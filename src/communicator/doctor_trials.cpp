// What trials told, and with whom Rondo can be compared here.
#include <algorithm>
#include <cstdio>

#include "communicator/doctor_checks.hpp"

namespace rondo::doctor {
namespace {

std::string printed_time(double ns) {
  const bool short_one = ns < 1e3;
  char text[32];
  std::snprintf(text, sizeof text, short_one ? "%.0f ns" : "%.1f us", short_one ? ns : ns / 1e3);
  return text;
}

std::string printed_rate(double bytes_per_s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB/s", bytes_per_s / 1e9);
  return text;
}

std::string bench_of(const Trial& trial) {
  return "rondo-bench all_reduce -n 2 --transport " + trial.transport + (trial.ranks == "threads" ? " --threads" : "");
}

Finding judge_trial(const Trial& trial) {
  const std::string check = "2 " + trial.ranks + ", " + trial.transport;
  if (trial.failure.empty())
    return {check, Verdict::ok,
            "right sums; 8 bytes " + printed_time(trial.small_ns) + ", large ones " + printed_rate(trial.large_bytes_per_s) +
                " (a hint and no benchmark: " + bench_of(trial) + ")",
            ""};
  // Ranks of one machine have shared memory; UCX is for those who ask for it.
  const Verdict verdict = trial.transport == "shm" ? Verdict::problem : Verdict::note;
  return {check, verdict, "no all-reduce: " + trial.failure, "RONDO_LOG=debug " + bench_of(trial)};
}

/// Without it all works, and large calls that only move bytes copy them twice.
Finding judge_kernel_copies(const Trial& trial) {
  if (trial.kernel_copies)
    return {"kernel copies", Verdict::ok, "the kernel copies between the ordinary memory of processes (process_vm_readv, process_vm_writev)", ""};
  return {"kernel copies", Verdict::note,
          "the kernel doesn't let processes read one another's memory, or RONDO_KERNEL_COPIES is 0: what large all_gathers, broadcasts and the like move is "
          "copied twice",
          "sysctl -w kernel.yama.ptrace_scope=0  # where that is 1 or more; in a container: docker run --cap-add SYS_PTRACE"};
}

}  // namespace

Findings check_trials(const MachineFacts& facts) {
  const Findings settings = check_settings(facts);
  const auto refused = std::find_if(settings.begin(), settings.end(), [](const Finding& finding) { return finding.verdict == Verdict::problem; });
  if (refused != settings.end()) return {{"trials", Verdict::note, "no all-reduce was tried because of " + refused->check, ""}};
  Findings findings;
  for (const Trial& trial : facts.trials)
    if (trial.transport != "ucx" || !facts.ucx_version.empty()) findings.push_back(judge_trial(trial));
  for (const Trial& trial : facts.trials)
    if (trial.transport == "shm" && trial.ranks == "processes" && trial.failure.empty()) findings.push_back(judge_kernel_copies(trial));
  return findings;
}

Findings check_peers(const MachineFacts& facts) {
  if (facts.launchers.empty())
    return {{"peers", Verdict::note, "no MPI is installed; only tools/compare would measure against it",
             "apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev"}};
  std::string names;
  for (const std::string& name : facts.launchers) names += (names.empty() ? "" : ", ") + name;
  return {{"peers", Verdict::ok, names + ": tools/compare measures against them", ""}};
}

}  // namespace rondo::doctor

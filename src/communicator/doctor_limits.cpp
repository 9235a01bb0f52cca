// What the system grants a process, against what ranks need.
#include <algorithm>
#include <bit>
#include <functional>

#include "base/config.hpp"
#include "base/descriptors.hpp"
#include "base/text.hpp"
#include "communicator/doctor_checks.hpp"
#include "communicator/layouts.hpp"
#include "communicator/staging_budget.hpp"
#include "executor/slot_layout.hpp"

namespace rondo::doctor {
namespace {

constexpr std::uint32_t most_ranks_counted = 1'000'000;
constexpr std::uint64_t tasks_of_a_rank = 3;  // itself, the watcher, the progress thread

/// The most ranks whose need is within `room`; needs grow with the ranks.
std::uint32_t most_ranks(std::uint64_t room, const std::function<std::uint64_t(std::uint32_t)>& need) {
  std::uint32_t ranks = 0;
  while (ranks < most_ranks_counted && need(ranks + 1) <= room) ++ranks;
  return ranks;
}

std::uint64_t descriptors_as_processes(std::uint32_t ranks) { return descriptors_of_creation(ranks, 1); }
std::uint64_t descriptors_as_threads(std::uint32_t ranks) { return descriptors_of_creation(ranks, ranks); }

/// What a process may stage: as set, or the default where the setting is refused (which is check_settings' finding).
std::uint64_t staging_budget(const MachineFacts& facts) {
  const auto config = parse_config(facts.environment);
  return config ? config->staging_bytes : Config{}.staging_bytes;
}

/// Address space of a rank's segment in a job of processes.
std::uint64_t whole_segment_bytes(const MachineFacts& facts, std::uint32_t ranks) {
  return segment_bytes(first_share(staging_budget(facts), ranks), ranks) + room_for_children;
}

std::string printed(const std::optional<std::uint64_t>& limit) { return limit ? std::to_string(*limit) : "unlimited"; }
std::string printed_bytes(const std::optional<std::uint64_t>& limit) { return limit ? print_size(*limit) : "unlimited"; }

/// "ulimit -n 64" where the user may do it, else what root types. A program opens some more than the doctor: the number is a round one.
std::string raise_descriptors(const SystemLimit& limit, std::uint64_t needed) {
  const std::uint64_t round = std::bit_ceil(std::max<std::uint64_t>(64, needed));
  if (!limit.hard || *limit.hard >= needed) return "ulimit -n " + std::to_string(std::min(round, limit.hard.value_or(round)));
  const std::string both = std::to_string(round) + ":" + std::to_string(round);
  return "sudo prlimit --pid $$ --nofile=" + both + "  # a container: docker run --ulimit nofile=" + both;
}

}  // namespace

Findings check_open_files(const MachineFacts& facts) {
  const auto& soft = facts.descriptors.soft;
  if (!soft) return {{"descriptors", Verdict::ok, "unlimited", ""}};
  const std::uint64_t open = facts.open_descriptors;
  const std::uint64_t room = *soft > open ? *soft - open : 0;
  const std::uint32_t processes = most_ranks(room, descriptors_as_processes), threads = most_ranks(room, descriptors_as_threads);
  Finding finding{"descriptors", Verdict::ok,
                  "limit " + printed(soft) + " (hard limit " + printed(facts.descriptors.hard) + "), " + std::to_string(open) +
                      " open: room for jobs of " + counted(processes, "rank") + " as processes, " + std::to_string(threads) + " as threads of one",
                  ""};
  const std::uint32_t wanted = usual_ranks(facts);
  if (processes >= wanted && threads >= wanted) return {finding};
  finding.verdict = processes < 2 || threads < 2 ? Verdict::problem : Verdict::note;
  finding.remedy = raise_descriptors(facts.descriptors, open + std::max(descriptors_as_processes(wanted), descriptors_as_threads(wanted)));
  return {finding};
}

Findings check_tasks(const MachineFacts& facts) {
  if (!facts.tasks_left) return {{"tasks", Verdict::ok, "no limit on processes and threads", ""}};
  const std::uint64_t left = *facts.tasks_left, wanted = usual_ranks(facts) * tasks_of_a_rank;
  Finding finding{"tasks", Verdict::ok,
                  "room for " + std::to_string(left) + " more processes and threads; a rank takes up to " + std::to_string(tasks_of_a_rank), ""};
  if (left >= wanted) return {finding};
  finding.verdict = left < 2 * tasks_of_a_rank ? Verdict::problem : Verdict::note;
  finding.remedy = "ulimit -u $(ulimit -H -u)  # a container: docker run --pids-limit -1";
  return {finding};
}

Findings check_shared_memory(const MachineFacts& facts) {
  if (facts.sealing_failure.empty())
    return {{"shared memory", Verdict::ok, "sealed memfds work; /dev/shm isn't used, so its size doesn't matter", ""}};
  return {{"shared memory", Verdict::problem, facts.sealing_failure,
           "uname -r  # 3.17 or later has it; where a container's seccomp profile refuses it: docker run --security-opt seccomp=unconfined"}};
}

Findings check_sizes(const MachineFacts& facts) {
  const auto& file = facts.file_bytes.soft;
  const auto& address = facts.address_bytes.soft;
  Finding finding{"size limits", Verdict::ok, "files " + printed_bytes(file) + ", address space " + printed_bytes(address), ""};
  if (const std::uint64_t needed = whole_segment_bytes(facts, usual_ranks(facts)); file && *file < needed) {
    finding.verdict = *file < whole_segment_bytes(facts, 2) ? Verdict::problem : Verdict::note;
    finding.meaning += ": a rank's shared memory counts as a file, of " + print_size(needed) + " among " + std::to_string(usual_ranks(facts));
    finding.remedy = "ulimit -f unlimited";
  }
  if (address) {
    finding.verdict = std::max(finding.verdict, Verdict::note);
    finding.meaning += "; a rank maps all ranks' segments, so with many of them an address space runs out";
    finding.remedy += (finding.remedy.empty() ? "" : "; ") + std::string("ulimit -v unlimited");
  }
  return {finding};
}

Findings check_locked_memory(const MachineFacts& facts) {
  constexpr std::uint64_t enough_for_rdma = std::uint64_t{64} << 20;
  const auto& soft = facts.locked_bytes.soft;
  const std::string limit = "limit " + printed_bytes(soft);
  if (!facts.rdma) return {{"locked memory", Verdict::ok, limit + "; without RDMA devices nothing locks any", ""}};
  if (!soft || *soft >= enough_for_rdma) return {{"locked memory", Verdict::ok, limit + "; UCX locks what its RDMA devices read", ""}};
  return {{"locked memory", Verdict::note, limit + ": UCX must lock what its RDMA devices read, and may fail or fall back to TCP",
           "sudo prlimit --pid $$ --memlock=unlimited  # a container: docker run --ulimit memlock=-1"}};
}

Findings check_staging(const MachineFacts& facts) {
  const std::uint64_t budget = staging_budget(facts);
  const std::uint32_t ranks = usual_ranks(facts);
  // An eighth of the budget is kept for pairs that send.
  const std::uint32_t threads = most_ranks(budget / 8 * 7, [](std::uint32_t count) { return count * least_share(); });
  Finding finding{"memory", Verdict::ok,
                  "a process stages in at most " + print_size(budget) + " of shared memory, room for " + std::to_string(threads) + " ranks as its threads", ""};
  if (facts.memory_bytes != 0) finding.meaning += "; " + print_size(facts.memory_bytes) + " " + facts.memory_bound;
  if (threads < ranks) {
    finding.verdict = Verdict::note;
    finding.remedy = "unset RONDO_STAGING_BYTES";
  }
  if (facts.memory_bytes != 0 && facts.memory_bytes / ranks < budget) {
    finding.verdict = Verdict::note;
    finding.meaning += ", too little for " + std::to_string(ranks) + " processes that use all of it";
    finding.remedy = "export RONDO_STAGING_BYTES=1M";
  }
  return {finding};
}

}  // namespace rondo::doctor

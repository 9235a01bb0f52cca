// rondo-bench: starts local ranks (or is one of a launcher's), measures size by size, prints nccl-tests' columns.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "options.hpp"
#include "report.hpp"
#include "rondo/formats.hpp"
#include "support/cores.hpp"

namespace {

int explain(const rondo::Error& error) {
  std::fprintf(stderr, "rondo-bench: %s\n", to_string(error).c_str());
  return error.code == rondo::Errc::invalid_argument || error.code == rondo::Errc::invalid_plan || error.code == rondo::Errc::unsupported ||
                 error.code == rondo::Errc::io
             ? 2
             : 1;
}

rondo::CommunicatorOptions communicator_options(const Options& options) {
  rondo::CommunicatorOptions result;
  result.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(options.deadline_s * 1e9));
  result.bootstrap_timeout = std::chrono::seconds(60);
  result.algorithm = options.algorithm;
  result.transport = options.transport;
  return result;
}

/// Rank r on the r-th processor this process may use, when there are enough for all.
void bind(const Options& options, std::uint32_t rank) {
  // refused: the ranks stay where the system puts them, which is a slower run and no wrong one
  if (options.bind && options.ranks <= bench_support::usable_cores()) (void)bench_support::pin_to_core(rank);
}

/// Everything one rank does. Rank 0 prints.
int run_rank(const Options& options, rondo::Communicator communicator) {
  const bool speaks = communicator.rank() == 0;
  if (options.root >= communicator.size())
    return explain({rondo::Errc::invalid_argument, "-r " + std::to_string(options.root) + " is not below " + std::to_string(communicator.size()) + " ranks"});
  if (!options.plan_file.empty()) {
    auto plan = rondo::load_plan(options.plan_file);
    if (!plan) return speaks ? explain(plan.error()) : 2;
    if (plan->header.collective != options.collective) {
      const std::string name{to_string(plan->header.collective)};
      return speaks ? explain({rondo::Errc::invalid_argument, options.plan_file + " is a plan for " + name + "; say: rondo-bench " + name}) : 2;
    }
    if (auto used = communicator.use_plan(*plan, options.unverified); !used) return speaks ? explain(used.error()) : 2;
  }
  if (speaks) print_head(options, communicator);
  std::vector<Row> rows;
  for (double bytes = static_cast<double>(options.min_bytes); bytes <= static_cast<double>(options.max_bytes);) {
    auto row = measure(communicator, options, static_cast<std::uint64_t>(bytes));
    if (!row) return explain(row.error());
    if (speaks) print_row(options, *row);
    rows.push_back(std::move(*row));
    if (options.collective == rondo::Collective::barrier) break;
    const double next = options.step_bytes != 0 ? bytes + static_cast<double>(options.step_bytes) : std::floor(bytes * options.factor);
    bytes = next > bytes ? next : bytes + 1;
  }
  std::uint64_t wrong = 0;
  for (const Row& row : rows) wrong += row.wrong();
  if (speaks) {
    print_foot(rows);
    if (!options.json_file.empty() && !write_json(options, communicator.size(), rows))
      return explain({rondo::Errc::io, "cannot write " + options.json_file});
  }
  return wrong == 0 ? 0 : 1;
}

int run_threads(const Options& options) {
  auto communicators = rondo::Communicator::in_process(options.ranks, communicator_options(options));
  if (!communicators) return explain(communicators.error());
  std::vector<int> statuses(options.ranks, 0);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank)
    threads.emplace_back([&, rank] {
      bind(options, rank);
      statuses[rank] = run_rank(options, std::move((*communicators)[rank]));
    });
  for (std::thread& thread : threads) thread.join();
  int status = 0;
  for (const int one : statuses) status = one > status ? one : status;
  return status;
}

int run_child(const Options& options, std::uint32_t rank, const std::string& job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bind(options, rank);
  auto communicator = rondo::Communicator::local(rank, options.ranks, job, communicator_options(options));
  if (!communicator) return rank == 0 ? explain(communicator.error()) : 2;
  return run_rank(options, std::move(*communicator));
}

int run_processes(const Options& options) {
  const std::string job = "rondo-bench/" + std::to_string(getpid());
  std::fflush(nullptr);
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      std::fprintf(stderr, "rondo-bench: cannot start rank %u (limit: ulimit -u)\n", rank);
      kill(0, SIGTERM);
      return 1;
    }
    if (child == 0) {
      const int status = run_child(options, rank, job);
      std::fflush(nullptr);
      _exit(status);
    }
  }
  int status = 0;
  for (int one = 0; wait(&one) > 0;) {
    if (WIFSIGNALED(one)) std::fprintf(stderr, "rondo-bench: a rank was ended by signal %d\n", WTERMSIG(one));
    const int code = WIFEXITED(one) ? WEXITSTATUS(one) : 1;
    status = code > status ? code : status;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const auto options = parse_options(argc, argv, status);
  if (!options) return status;
  if (options->threads) return run_threads(*options);
  if (options->ranks != 0) return run_processes(*options);
  auto communicator = rondo::Communicator::from_environment(communicator_options(*options));
  if (!communicator) {
    communicator.error().detail += " (or start local ranks: -n N)";
    return explain(communicator.error());
  }
  return run_rank(*options, std::move(*communicator));
}

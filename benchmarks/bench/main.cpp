// rondo-bench: starts local ranks (or is one of a launcher's), measures size by size, prints nccl-tests' columns.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "options.hpp"
#include "report.hpp"
#include "rondo/formats.hpp"
#include "rondo/planning.hpp"
#include "said.hpp"
#include "support/cores.hpp"
#include "timeline.hpp"

namespace {

/// 2 for input that can't be used, 1 for a failure on the way.
int status_of(const rondo::Error& error) {
  using rondo::Errc;
  return error.code == Errc::invalid_argument || error.code == Errc::invalid_plan || error.code == Errc::unsupported ? 2 : 1;
}

/// Says what went wrong, unless another rank has said the same; returns the program's exit code.
int explain(const rondo::Error& error) {
  const std::string line = to_string(error);
  if (first_to_say(line)) std::fprintf(stderr, "rondo-bench: %s\n", line.c_str());
  return status_of(error);
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

/// Makes the communicator run --plan. Errors: invalid_argument, invalid_plan, unsupported; what is wrong with a file is wrong input too.
rondo::Result<void> take_plan(const Options& options, rondo::Communicator& communicator) {
  auto plan = rondo::load_plan(options.plan_file);
  if (!plan && plan.error().code == rondo::Errc::io) plan.error().code = rondo::Errc::invalid_argument;
  if (!plan) return plan.error();
  if (plan->header.collective != options.collective) {
    const std::string name{to_string(plan->header.collective)};
    return rondo::Error{rondo::Errc::invalid_argument, options.plan_file + " is a plan for " + name + "; say: rondo-bench " + name};
  }
  return communicator.use_plan(*plan, options.unverified);
}

/// Everything one rank does. Rank 0 prints.
int run_rank(const Options& options, rondo::Communicator communicator) {
  const bool speaks = communicator.rank() == 0;
  if (options.root >= communicator.size())
    return explain({rondo::Errc::invalid_argument, "-r " + std::to_string(options.root) + " is not below " + std::to_string(communicator.size()) + " ranks"});
  if (!options.plan_file.empty())
    if (auto taken = take_plan(options, communicator); !taken) return speaks ? explain(taken.error()) : status_of(taken.error());
  if (speaks) print_head(options, communicator);
  std::vector<Row> rows;
  rondo::Trace trace;
  trace.rank = communicator.rank();
  for (double bytes = static_cast<double>(options.min_bytes); bytes <= static_cast<double>(options.max_bytes);) {
    auto row = measure(communicator, options, static_cast<std::uint64_t>(bytes), trace);
    if (!row) return explain(row.error());
    if (speaks) print_row(options, *row);
    rows.push_back(std::move(*row));
    if (options.collective == rondo::Collective::barrier) break;
    const double next = options.step_bytes != 0 ? bytes + static_cast<double>(options.step_bytes) : std::floor(bytes * options.factor);
    bytes = next > bytes ? next : bytes + 1;
  }
  std::uint64_t wrong = 0;
  for (const Row& row : rows) wrong += row.wrong().value_or(0);
  if (speaks) {
    print_foot(rows);
    if (!options.json_file.empty() && !write_json(options, communicator.size(), rows))
      return explain({rondo::Errc::io, "cannot write " + options.json_file});
  }
  if (!options.trace_file.empty())
    if (auto written = write_timeline(communicator, options, trace); !written) return explain(written.error());
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
  if (!communicator) return explain(communicator.error());
  return run_rank(options, std::move(*communicator));
}

/// Every child's end; the worst exit code.
int wait_for_all() {
  int status = 0;
  for (int one = 0; wait(&one) > 0;) {
    if (WIFSIGNALED(one)) std::fprintf(stderr, "rondo-bench: a rank was ended by signal %d\n", WTERMSIG(one));
    status = std::max(status, WIFEXITED(one) ? WEXITSTATUS(one) : 1);
  }
  return status;
}

int run_processes(const Options& options) {
  const std::string job = "rondo-bench/" + std::to_string(getpid());
  std::fflush(nullptr);
  std::vector<pid_t> started;
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      std::fprintf(stderr, "rondo-bench: cannot start rank %u: %s (limit: ulimit -u)\n", rank, std::strerror(errno));
      for (const pid_t one : started) kill(one, SIGKILL);
      while (wait(nullptr) > 0) {}
      return 1;
    }
    if (child == 0) {
      const int status = run_child(options, rank, job);
      std::fflush(nullptr);
      _exit(status);
    }
    started.push_back(child);
  }
  return wait_for_all();
}

}  // namespace

int main(int argc, char** argv) {
  share_what_is_said();
  int status = 0;
  const auto options = parse_options(argc, argv, status);
  if (!options) return status;
  // Here, once: ranks that have to say it themselves say it all.
  if (auto environment = rondo::planning_options(1); !environment) return explain(environment.error());
  if (options->threads) return run_threads(*options);
  if (options->ranks != 0) return run_processes(*options);
  auto communicator = rondo::Communicator::from_environment(communicator_options(*options));
  if (!communicator) {
    communicator.error().detail += " (or start local ranks: -n N)";
    return explain(communicator.error());
  }
  return run_rank(*options, std::move(*communicator));
}

// verify_all [--ranks FIRST:LAST] [--algorithm NAME] [--collective NAME] [--jobs N] [--in-full]: proves every plan that the planner's algorithms make, for
// each number of ranks that they serve, where ranks read one another's memory and where they don't; with --in-full, what one rank's program proves is
// proved from all of them, too. A line for each algorithm and collective; exit 1: something wasn't proved.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rondo/planner.hpp"
#include "rondo/verifier.hpp"
#include "tools/support/flags.hpp"

namespace {

using namespace rondo;

struct Options {
  std::uint32_t first = 2, last = 1024;
  std::string algorithm;  ///< empty: all
  std::optional<Collective> collective;  ///< or all
  std::uint32_t jobs = std::max(1u, std::thread::hardware_concurrency());
  bool in_full = false;
};

/// What was seen of one algorithm's form of one collective.
struct Tally {
  std::uint32_t served = 0, plans = 0, symmetric = 0, wrong = 0;
  std::uint64_t chunk_steps = 0;
  double seconds = 0;
  std::string first_wrong;
};

/// Groups for what follows some: of the smallest divisor.
std::vector<Level> levels_of(std::uint32_t ranks) {
  for (std::uint32_t group = 2; group < ranks; ++group)
    if (ranks % group == 0) return {Level{"made up", group, true, 1, 0.033, 1e4}};
  return {};
}

std::optional<Plan> plan_of(const std::string& algorithm, Collective collective, std::uint32_t ranks, bool mapped) {
  CostModel cost = cost_model(Topology{}, ranks);
  cost.levels = levels_of(ranks);
  PlanLimits limits;
  limits.reach = mapped ? Reach::memory : Reach::messages;
  limits.staging_bytes = std::uint64_t{1} << 40;  // no plan is too large for its slots here
  limits.inline_bytes = 1u << 30;
  Request request{collective, ranks, algorithm == "inline" ? 1 : std::uint64_t{ranks} * 64};
  request.root = is_rooted(collective) ? ranks / 3 : 0;
  request.symmetric = algorithm.starts_with("direct");
  auto plan = make_plan(Topology{}, cost, limits, request, algorithm);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

bool equal(const Proof& a, const Proof& b) {
  return a.proved() == b.proved() && a.least_safe_depth == b.least_safe_depth && a.chunk_steps == b.chunk_steps && a.strictness == b.strictness &&
         a.departure == b.departure;
}

/// How a plan was proved, or why not.
struct Verdict {
  Proof proof;
  bool differs = false;  ///< the two ways say different things
};

Verdict verdict_on(const Plan& plan, bool in_full) {
  Verdict verdict;
  verdict.proof = verify(plan);
  if (verdict.proof.by_symmetry && in_full) verdict.differs = !equal(verdict.proof, verify_in_full(plan));
  return verdict;
}

void prove(const std::string& algorithm, Collective collective, std::uint32_t ranks, bool in_full, Tally& tally, std::mutex& mutex) {
  std::optional<PlanHeader> before;
  for (const bool mapped : {true, false}) {
    const auto plan = plan_of(algorithm, collective, ranks, mapped);
    if (!plan || before == plan->header) continue;  // the same plan
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = verdict_on(*plan, in_full);
    const Proof& proof = verdict.proof;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::lock_guard lock(mutex);
    tally.served += before ? 0 : 1;
    tally.plans += 1;
    tally.chunk_steps += proof.chunk_steps;
    tally.seconds += seconds;
    if (proof.by_symmetry) ++tally.symmetric;
    if (!proof.proved() || verdict.differs) {
      const std::string why = verdict.differs ? "one rank's program says something else than all ranks'" : to_string(proof.violations.front());
      if (tally.wrong++ == 0) tally.first_wrong = std::to_string(ranks) + " ranks: " + why;
    }
    before = plan->header;
  }
}

Tally prove_all(const Options& options, const std::string& algorithm, Collective collective) {
  Tally tally;
  std::mutex mutex;
  std::atomic<std::uint32_t> next = options.last;  // the longest proofs first
  std::vector<std::thread> workers;
  for (std::uint32_t k = 0; k < options.jobs; ++k)
    workers.emplace_back([&] {
      for (std::uint32_t ranks = next--; ranks >= options.first && ranks <= options.last; ranks = next--)
        prove(algorithm, collective, ranks, options.in_full, tally, mutex);
    });
  for (std::thread& worker : workers) worker.join();
  return tally;
}

int run(const Options& options) {
  std::uint32_t plans = 0, symmetric = 0, wrong = 0;
  for (const std::string_view name : algorithm_names()) {
    if (!options.algorithm.empty() && name != options.algorithm) continue;
    for (std::size_t c = 0; c < collective_count; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (options.collective && collective != *options.collective) continue;
      const Tally tally = prove_all(options, std::string(name), collective);
      if (tally.plans == 0) continue;
      const auto chunk_steps = static_cast<unsigned long long>(tally.chunk_steps);
      std::printf("%-18s %-15s %5u counts of ranks, %5u plans (%5u by symmetry), %12llu chunk-steps, %8.1f s%s%s\n", std::string(name).c_str(),
                  std::string(to_string(collective)).c_str(), tally.served, tally.plans, tally.symmetric, chunk_steps, tally.seconds,
                  tally.wrong > 0 ? "  WRONG: " : "", tally.first_wrong.c_str());
      std::fflush(stdout);
      plans += tally.plans;
      symmetric += tally.symmetric;
      wrong += tally.wrong;
    }
  }
  std::printf("%u plans for %u to %u ranks, %u of them by one rank's program%s; %u not proved\n", plans, options.first, options.last, symmetric,
              options.in_full ? ", and again by all, which has to say the same" : "", wrong);
  return plans > 0 && wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Proves the plans of every algorithm for every number of ranks that it serves.", "verify_all"};
  std::string ranks = "2:1024", collective;
  app.add_option("--ranks", ranks, "FIRST:LAST");
  app.add_option("--algorithm", options.algorithm, "This one alone");
  app.add_option("--collective", collective, "This one alone");
  app.add_flag("--in-full", options.in_full, "What one rank's program proves is proved from all of them, too, and has to be the same");
  app.add_option("--jobs", options.jobs, "Threads")->check(tool_support::whole_number(1, 1024));
  int status = 0;
  if (!tool_support::parse(app, argc, argv, "verify_all", status)) return status;
  char end = 0;
  if (std::sscanf(ranks.c_str(), "%u:%u%c", &options.first, &options.last, &end) != 2 || options.first < 2 || options.last < options.first ||
      options.last > 100'000) {
    std::fprintf(stderr, "verify_all: --ranks %s: expected FIRST:LAST, two numbers of ranks from 2 to 100000\n", ranks.c_str());
    return 2;
  }
  const auto names = algorithm_names();
  if (!options.algorithm.empty() && std::find(names.begin(), names.end(), options.algorithm) == names.end()) {
    std::fprintf(stderr, "verify_all: no algorithm is called '%s'\n", options.algorithm.c_str());
    return 2;
  }
  if (!collective.empty()) {
    const auto parsed = parse_collective(collective);
    if (!parsed) {
      std::fprintf(stderr, "verify_all: --collective: %s\n", to_string(parsed.error()).c_str());
      return 2;
    }
    options.collective = *parsed;
  }
  return run(options);
}

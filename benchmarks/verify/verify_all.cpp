// verify_all [--ranks FIRST:LAST] [--algorithm NAME] [--jobs N]: proves every plan that the planner's algorithms make, for each number of ranks that they
// serve, where ranks read one another's memory and where they don't. A line for each algorithm and collective; exit 1: something wasn't proved.
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
  std::uint32_t jobs = std::max(1u, std::thread::hardware_concurrency());
};

/// What was seen of one algorithm's form of one collective.
struct Tally {
  std::uint32_t served = 0, plans = 0, wrong = 0;
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
  limits.mapped = mapped;
  limits.staging_bytes = std::uint64_t{1} << 40;  // no plan is too large for its slots here
  limits.inline_bytes = 1u << 30;
  Request request{collective, ranks, algorithm == "inline" ? 1 : std::uint64_t{ranks} * 64};
  request.root = is_rooted(collective) ? ranks / 3 : 0;
  request.symmetric = algorithm.starts_with("direct");
  auto plan = make_plan(Topology{}, cost, limits, request, algorithm);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

void prove(const std::string& algorithm, Collective collective, std::uint32_t ranks, Tally& tally, std::mutex& mutex) {
  std::optional<PlanHeader> before;
  for (const bool mapped : {true, false}) {
    const auto plan = plan_of(algorithm, collective, ranks, mapped);
    if (!plan || before == plan->header) continue;  // the same plan
    const auto begin = std::chrono::steady_clock::now();
    const Proof proof = verify(*plan);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::lock_guard lock(mutex);
    tally.served += before ? 0 : 1;
    tally.plans += 1;
    tally.chunk_steps += proof.chunk_steps;
    tally.seconds += seconds;
    if (!proof.proved()) {
      if (tally.wrong++ == 0) tally.first_wrong = std::to_string(ranks) + " ranks: " + to_string(proof.violations.front());
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
      for (std::uint32_t ranks = next--; ranks >= options.first && ranks <= options.last; ranks = next--) prove(algorithm, collective, ranks, tally, mutex);
    });
  for (std::thread& worker : workers) worker.join();
  return tally;
}

int run(const Options& options) {
  std::uint32_t plans = 0, wrong = 0;
  for (const std::string_view name : algorithm_names()) {
    if (!options.algorithm.empty() && name != options.algorithm) continue;
    for (std::size_t c = 0; c < collective_count; ++c) {
      const auto collective = static_cast<Collective>(c);
      const Tally tally = prove_all(options, std::string(name), collective);
      if (tally.plans == 0) continue;
      std::printf("%-18s %-15s %5u counts of ranks, %5u plans, %12llu chunk-steps, %8.1f s%s%s\n", std::string(name).c_str(),
                  std::string(to_string(collective)).c_str(), tally.served, tally.plans, static_cast<unsigned long long>(tally.chunk_steps), tally.seconds,
                  tally.wrong > 0 ? "  WRONG: " : "", tally.first_wrong.c_str());
      std::fflush(stdout);
      plans += tally.plans;
      wrong += tally.wrong;
    }
  }
  std::printf("%u plans for %u to %u ranks, %u of them not proved\n", plans, options.first, options.last, wrong);
  return plans > 0 && wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Proves the plans of every algorithm for every number of ranks that it serves.", "verify_all"};
  std::string ranks = "2:1024";
  app.add_option("--ranks", ranks, "FIRST:LAST");
  app.add_option("--algorithm", options.algorithm, "This one alone");
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
  return run(options);
}

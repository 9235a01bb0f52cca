// bench_plan [RANK]: how long it takes to plan an all_reduce of 1 GiB for 102,400 ranks on a made-up fabric and to make one rank's program, the best of five;
// and how much memory this process has had. One thread.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "rondo/planner.hpp"
#include "rondo/topology.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

}  // namespace

int main(int count, char** arguments) {
  const auto rank = static_cast<std::uint32_t>(count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 77'777);
  int status = 0;
  for (const auto& [algorithm, boxes] : {std::pair{"ring", 12'800u}, {"rings", 12'800u}, {"tree", 12'800u}, {"chain", 12'800u}, {"rail", 12'800u},
                                         {"bine", 12'800u}, {"swing", 16'384u}, {"halving_doubling", 16'384u}}) {
    const std::uint32_t ranks = 8 * boxes;
    auto begin = Clock::now();
    auto fabric = load_topology("dgx-h100*" + std::to_string(boxes));
    if (!fabric || rank >= ranks) {
      std::fprintf(stderr, "bench_plan: %s\n", fabric ? "no such rank" : to_string(fabric.error()).c_str());
      return 2;
    }
    const Topology topology = with_ranks(std::move(*fabric), ranks);
    const double making = ms_since(begin);
    begin = Clock::now();
    const CostModel cost = cost_model(topology, ranks);
    const double pricing = ms_since(begin);
    double planning = 1e9;
    std::size_t steps = 0;
    for (int run = 0; run < 5; ++run) {
      begin = Clock::now();
      PlanLimits limits;
      limits.reach = Reach::messages;
      const auto plan = make_plan(topology, cost, limits, {Collective::all_reduce, ranks, (std::uint64_t{1} << 30) / 4}, algorithm);
      if (!plan) {
        std::fprintf(stderr, "bench_plan: %s\n", to_string(plan.error()).c_str());
        status = 1;
        break;
      }
      const Program program = plan->program(rank);
      planning = std::min(planning, ms_since(begin));
      steps = 0;
      for (const Lane& lane : program.lanes) steps += lane.steps.size();
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf("%-17s %6u ranks: the fabric %5.0f ms, its costs %5.0f ms, ", algorithm, ranks, making, pricing);
    std::printf("plan and program of %6zu steps %6.1f ms; at most %3ld MB so far\n", steps, planning, used.ru_maxrss / 1024);
  }
  return status;
}

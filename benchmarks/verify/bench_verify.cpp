// bench_verify [ALGORITHM RANKS]: proves plans of many ranks and says how many chunk-steps a second that took, the best of a few runs each. One thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rondo/planner.hpp"
#include "rondo/verifier.hpp"

namespace {

using namespace rondo;

struct Case {
  std::string algorithm;
  Collective collective;
  std::uint32_t ranks;
  bool mapped;
};

/// False: it wasn't proved.
bool measure(const Case& of) {
  Request request{of.collective, of.ranks, (64u << 20) / 4};
  PlanLimits limits;
  limits.reach = of.mapped ? Reach::memory : Reach::messages;
  limits.staging_bytes = 1u << 30;
  const auto plan = make_plan(Topology{}, cost_model(Topology{}, of.ranks), limits, request, of.algorithm);
  if (!plan) {
    std::fprintf(stderr, "bench_verify: %s\n", plan.error().detail.c_str());
    return false;
  }
  double best = 1e9;
  Proof proof;
  for (int run = 0; run < 3; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    proof = verify(*plan);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const auto steps = static_cast<double>(proof.chunk_steps);
  const std::string collective(to_string(of.collective));
  std::printf("%-18s %-14s %5u ranks, %-7s %10.0f chunk-steps %9.2f ms %7.2f M/s%s\n", of.algorithm.c_str(), collective.c_str(), of.ranks,
              of.mapped ? "mapped" : "links", steps, best * 1e3, steps / best / 1e6,
              proof.proved() ? proof.by_symmetry ? "  by symmetry" : "" : "  NOT PROVED");
  return proof.proved();
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Case> cases;
  for (const bool mapped : {true, false}) {
    for (const std::uint32_t ranks : {64u, 256u, 1024u}) cases.push_back({"halving_doubling", Collective::all_reduce, ranks, mapped});
    for (const std::uint32_t ranks : {64u, 256u, 512u}) cases.push_back({"ring", Collective::all_reduce, ranks, mapped});
    cases.push_back({"ring", Collective::all_gather, 256, mapped});
    cases.push_back({"tree", Collective::all_reduce, 1024, mapped});
    cases.push_back({"pairwise", Collective::all_to_all, 256, mapped});
  }
  for (const std::uint32_t ranks : {512u, 1024u}) {
    cases.push_back({"ring", Collective::all_gather, ranks, false});
    cases.push_back({"pairwise", Collective::all_to_all, ranks, false});
    cases.push_back({"bruck", Collective::all_to_all, ranks, false});
    cases.push_back({"bine", Collective::all_reduce, ranks, false});
    cases.push_back({"pat", Collective::reduce_scatter, ranks, false});
  }
  cases.push_back({"two_shot", Collective::all_reduce, 128, true});
  if (count == 3) cases = {{arguments[1], Collective::all_reduce, static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10)), true}};
  bool all = true;
  for (const Case& of : cases) all = measure(of) && all;
  return all ? 0 : 1;
}

#include "overhead/planning.hpp"

#include <chrono>

#include "communicator/layouts.hpp"
#include "communicator/plan_cache.hpp"

namespace overhead_bench {

using namespace rondo;

Result<PlanningTime> time_planning(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t repeats) {
  auto topology = read_synthetic("pack:2 l3:4 core:8 pu:1");
  if (!topology) return topology.error();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) topology->ranks.push_back(RankPlace{0, rank, {rank}, -1});
  PlanSource source;
  source.topology = &*topology;
  source.cost = cost_model(*topology, ranks);
  source.layout = ContextLayout{128, 32, source.options.limits.staging_bytes};
  source.options.limits = limits_of(source.layout);
  source.rank = 0;
  source.ranks = ranks;
  PlanCache cache(source);
  PlanningTime time{ranks, bytes, "", {}};
  std::vector<double> us;
  for (std::uint32_t i = 0; i < repeats; ++i) {
    cache.clear();
    const auto begin = std::chrono::steady_clock::now();
    auto found = cache.find(PlanKey{bytes / 4, 0, Collective::all_reduce, DataType::f32, ReduceOp::sum});
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    if (!found) return found.error();
    time.algorithm = (*found)->name.data();
  }
  time.us = spread_of(std::move(us));
  return time;
}

}  // namespace overhead_bench

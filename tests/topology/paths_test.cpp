#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

// Rank r on processor cpus[r] of `description`'s machine.
Topology placed(const std::string& description, const std::vector<std::vector<std::uint32_t>>& cpus) {
  auto topology = read_synthetic(description);
  REQUIRE(topology);
  for (const auto& set : cpus) {
    RankPlace place;
    place.cpus = set;
    for (std::size_t n = 0; n < topology->nodes.size(); ++n)
      if (topology->nodes[n].cpus == set) place.node = static_cast<std::int32_t>(n);
    topology->ranks.push_back(place);
  }
  return *topology;
}

}  // namespace

TEST_CASE("costs grow from the same processor to another package") {
  // Two packages of two memories, each with two L3 over two L2 over two cores of two processors.
  const auto topology = placed("package:2 numa:2 l3:2 l2:2 core:2 pu:2", {{0}, {0}, {1}, {2}, {4}, {8}, {16}, {32}});
  double last = -1;
  for (std::uint32_t rank = 1; rank < topology.ranks.size(); ++rank) {
    INFO("rank 0 to rank " << rank);
    const auto cost = topology.between(0, rank);
    CHECK(cost.latency_ns > last);
    CHECK(cost.bandwidth_bytes_per_s > 1e9);
    CHECK(cost.provenance == Provenance::assumed);
    CHECK(topology.between(rank, 0).latency_ns == cost.latency_ns);
    last = cost.latency_ns;
  }
  CHECK(topology.between(0, 3).latency_ns == 50);
  CHECK(topology.between(0, 4).latency_ns == 100);
  CHECK(topology.between(0, 5).latency_ns == 150);
  CHECK(topology.between(0, 6).latency_ns == 200);
  CHECK(topology.between(0, 7).latency_ns == 300);
}

TEST_CASE("ranks that may move are taken where they are farthest apart") {
  const auto topology = placed("package:2 core:2 pu:1", {{0, 1, 2, 3}, {0, 1, 2, 3}, {0}, {0, 1}});
  CHECK(topology.between(0, 1).latency_ns == 300);
  CHECK(topology.between(0, 2).latency_ns == 300);
  CHECK(topology.between(2, 0).latency_ns == 300);
  CHECK(topology.between(2, 3).latency_ns == 150);
}

TEST_CASE("usable processors are those of the ranks, bounded by the quota, at least one") {
  auto topology = placed("core:8 pu:1", {});
  CHECK(topology.usable_cpus(0) == 8);
  topology.cpu_quota = 2.5;
  CHECK(topology.usable_cpus(0) == 2);
  topology.cpu_quota = 0.3;
  CHECK(topology.usable_cpus(0) == 1);
  topology.cpu_quota = 100;
  CHECK(topology.usable_cpus(0) == 8);
  topology = placed("core:8 pu:1", {{0}, {1}, {1}});
  CHECK(topology.usable_cpus(0) == 2);
}

TEST_CASE("ranks spread over processors and wrap around") {
  const auto topology = with_ranks(*read_synthetic("core:3 pu:1"), 5);
  REQUIRE(topology.ranks.size() == 5);
  CHECK(topology.ranks[2].cpus == std::vector<std::uint32_t>{2});
  CHECK(topology.ranks[3].cpus == std::vector<std::uint32_t>{0});
  CHECK(topology.nodes[static_cast<std::size_t>(topology.ranks[4].node)].kind == NodeKind::cpu);
  CHECK(topology.between(0, 3).latency_ns < topology.between(0, 1).latency_ns);
}

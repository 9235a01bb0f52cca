#include <sched.h>

#include <set>

#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

TEST_CASE("this machine has a machine, processors that this process may use, and an identity") {
  const auto topology = discover_topology();
  REQUIRE(topology);
  check_form(*topology);
  CHECK(count(*topology, NodeKind::machine) == 1);
  CHECK(topology->nodes.front().kind == NodeKind::machine);
  REQUIRE(topology->hosts.size() == 1);
  CHECK(topology->hosts[0] == *host_identity());
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  const auto& cpus = topology->nodes.front().cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed))
      CHECK(std::find(cpus.begin(), cpus.end(), static_cast<std::uint32_t>(cpu)) != cpus.end());
  CHECK(topology->usable_cpus(0) >= 1);
  CHECK(topology->usable_cpus(0) <= cpus.size());
}

TEST_CASE("a core's own cache is the largest that no other core shares") {
  auto topology = read_synthetic("pack:2 l3:1(size=33554432) l2:2(size=1048576) l1:1(size=49152) core:1 pu:2");
  REQUIRE(topology.has_value());
  topology->ranks = {RankPlace{0, 0, {2, 3}, -1}, RankPlace{0, 0, {}, -1}};
  CHECK(private_cache_bytes(*topology, 0) == 1u << 20);
  CHECK(private_cache_bytes(*topology, 1) == 0);
  CHECK(private_cache_bytes(*topology, 2) == 0);
}

TEST_CASE("the identity of the host stays the same") {
  CHECK(*host_identity() == *host_identity());
}

TEST_CASE("a thread's place follows its affinity") {
  const auto topology = discover_topology();
  REQUIRE(topology);
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const auto free = place_of_this_thread(*topology);
  CHECK(free.cpus.size() == static_cast<std::size_t>(CPU_COUNT(&before)));
  REQUIRE(free.node >= 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<int>(free.cpus.back()), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const auto bound = place_of_this_thread(*topology);
  sched_setaffinity(0, sizeof before, &before);
  REQUIRE(bound.cpus.size() == 1);
  REQUIRE(bound.node >= 0);
  CHECK(topology->nodes[static_cast<std::size_t>(bound.node)].kind == NodeKind::cpu);
}

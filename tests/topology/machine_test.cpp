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

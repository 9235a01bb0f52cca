// The double tree of GPUs lies on their widest wires, whatever numbers these have.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "gpu_machines.hpp"
#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// The widths of the ways between ranks that talk, in GB/s, and how many there are of each.
std::map<double, int> widths(const Topology& topology, const Plan& plan) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps)
        for (const Operand& to : step.destinations)
          if (to.buffer == Buffer::link) pairs.insert(std::minmax(rank, to.rank));
  std::map<double, int> widths;
  for (const auto& [a, b] : pairs) ++widths[topology.between(a, b).bandwidth_bytes_per_s / 1e9];
  return widths;
}

Plan tree_of(const Topology& topology, Collective collective, std::uint32_t root = 0) {
  const auto ranks = static_cast<std::uint32_t>(topology.ranks.size());
  const auto plan = make_plan(topology, cost_model(topology, ranks), {}, request_of(collective, ranks, 1 << 20, root), "tree");
  if (!plan) FAIL(plan.error().detail);
  CHECK(verify(*plan).proved());
  return *plan;
}

}  // namespace

TEST_CASE("the double tree takes no way but wires in a mesh of GPUs, whatever numbers these have") {
  std::mt19937 random(7);
  for (int shuffle = 0; shuffle < 6; ++shuffle) {
    std::vector<std::uint32_t> names = by_number(8);
    if (shuffle > 0) std::shuffle(names.begin(), names.end(), random);
    const Topology topology = machine(8, cube_mesh, names);
    CHECK(widths(topology, tree_of(topology, Collective::all_reduce)) == std::map<double, int>{{20, 4}, {40, 8}});
    for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
      const std::map<double, int> rooted = widths(topology, tree_of(topology, collective, names[5]));
      CHECK(rooted.begin()->first < 20);  // a root that serves both trees, and two of seven others: its wires make no such trees
      CHECK(rooted.begin()->second == 2);
    }
  }
}

TEST_CASE("through several hosts the double tree stays on wires inside each") {
  const auto fabric = load_topology("ndv2*2");
  REQUIRE(fabric);
  const Topology topology = with_ranks(*fabric, 16);
  const std::map<double, int> all = widths(topology, tree_of(topology, Collective::all_reduce));
  REQUIRE(all.size() == 3);
  CHECK(all.begin()->first == 12.5);  // what goes from host to host; PCI inside would be 15.75
  CHECK(std::next(all.begin())->first == 25);
  for (const std::uint32_t root : {0u, 5u, 13u})
    for (const Collective collective : {Collective::broadcast, Collective::reduce})
      CHECK(widths(topology, tree_of(topology, collective, root)).count(15.75) == 0);
}

TEST_CASE("of more GPUs than all orders are tried of, swaps find wires for the double tree") {
  std::vector<Wire> wires;  // each half of sixteen is a whole of its own, and each GPU has a wire to its like
  for (std::uint32_t a = 0; a < 16; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      if (a / 8 == b / 8 || a == b + 8) wires.push_back({b, a, 1});
  std::vector<std::uint32_t> names = by_number(16);
  std::mt19937 random(3);
  std::shuffle(names.begin(), names.end(), random);
  const Topology topology = machine(16, wires, names);
  const std::map<double, int> all = widths(topology, tree_of(topology, Collective::all_reduce));
  CHECK(all.begin()->first >= 20);
}

TEST_CASE("GPUs that are all alike, and processors, have trees by number") {
  const auto box = load_topology("dgx-h100");
  REQUIRE(box);
  CHECK(tree_of(with_ranks(*box, 8), Collective::all_reduce).header.order.empty());
  const auto processors = read_synthetic("package:2 core:4 pu:1");
  REQUIRE(processors);
  CHECK(tree_of(with_ranks(*processors, 8), Collective::all_reduce).header.order.empty());
}

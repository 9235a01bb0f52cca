// Rings, one and several: proved for many numbers of ranks, and along the widest wires of GPUs whatever numbers these have.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "gpu_machines.hpp"
#include "requests.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// By pair of ranks in this direction, how many rings go that way.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ways(const std::vector<std::uint32_t>& rings, std::uint32_t ranks) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ways;
  for (std::size_t k = 0; k < rings.size(); ++k) ++ways[{rings[k], rings[k / ranks * ranks + (k + 1) % ranks]}];
  return ways;
}

bool all_orders(const std::vector<std::uint32_t>& rings, std::uint32_t ranks) {
  for (std::size_t k = 0; k < rings.size(); k += ranks)
    if (std::set<std::uint32_t>(rings.data() + k, rings.data() + k + ranks).size() != ranks) return false;
  return rings.size() % ranks == 0;
}

Plan rings_of(const Topology& topology, std::uint32_t ranks, Collective collective = Collective::all_reduce) {
  const auto plan = make_plan(topology, cost_model(topology, ranks), {}, request_of(collective, ranks, 1 << 20), "rings");
  if (!plan) FAIL(plan.error().detail);
  return *plan;
}

}  // namespace

TEST_CASE("several rings are proved for every number of ranks, in both directions and lowered") {
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather, Collective::broadcast, Collective::reduce})
    for (std::uint32_t ranks = 2; ranks <= 40; ++ranks) {
      const auto plan = plan_of(request_of(collective, ranks, 1 << 20, ranks / 3), "rings");
      if (!plan) FAIL(plan.error().detail);
      REQUIRE(plan->header.order.size() == 2 * ranks);
      CHECK(verify(*plan).proved());
      if (ranks > 9) continue;
      CHECK(verify(lower(*plan)).proved());
      const auto again = read_plan(write_plan(*plan));
      REQUIRE(again);
      CHECK(again->header == plan->header);
    }
}

TEST_CASE("a chain is proved for every number of ranks, and lowered") {
  for (std::uint32_t ranks = 2; ranks <= 40; ++ranks) {
    const auto plan = plan_of(request_of(Collective::all_reduce, ranks, 1 << 20), "chain");
    if (!plan) FAIL(plan.error().detail);
    CHECK(verify(*plan).proved());
    CHECK(verify(lower(*plan)).proved());
  }
}

TEST_CASE("in several rings every rank sends the same amount each way") {
  const Plan plan = *plan_of(request_of(Collective::all_reduce, 6, 1 << 20), "rings");
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    std::map<std::uint32_t, std::uint32_t> sent;
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps)
        for (const Operand& to : step.destinations)
          if (to.buffer == Buffer::link) sent[to.rank] += to.count;
    CHECK(sent == std::map<std::uint32_t, std::uint32_t>{{(rank + 1) % 6, 10}, {(rank + 5) % 6, 10}});
  }
}

TEST_CASE("a mesh of GPUs gets as many rings as its wires allow, whatever numbers the GPUs have") {
  std::mt19937 random(5);
  for (int shuffle = 0; shuffle < 6; ++shuffle) {
    std::vector<std::uint32_t> names = by_number(8);
    if (shuffle > 0) std::shuffle(names.begin(), names.end(), random);
    const Topology topology = machine(8, cube_mesh, names);
    const std::vector<std::uint32_t> rings = cost_model(topology, 8).rings;
    REQUIRE(all_orders(rings, 8));
    CHECK(rings.size() == 6 * 8);  // three circles, 24 wires in all, each in both directions
    for (const auto& [way, count] : ways(rings, 8)) {
      const auto wire = std::find_if(cube_mesh.begin(), cube_mesh.end(), [&, way = way](const Wire& known) {
        return std::minmax(names[known.a], names[known.b]) == std::minmax(way.first, way.second);
      });
      REQUIRE(wire != cube_mesh.end());
      CHECK(count <= wire->count);
    }
    for (const Collective collective : {Collective::all_reduce, Collective::broadcast}) CHECK(verify(rings_of(topology, 8, collective)).proved());
    const auto single = make_plan(topology, cost_model(topology, 8), {}, request_of(Collective::all_reduce, 8, 1 << 20), "ring");
    REQUIRE(single);
    CHECK(single->header.order == std::vector<std::uint32_t>(rings.begin(), rings.begin() + 8));
  }
}

TEST_CASE("where wires make no circle, a ring takes the narrow way as seldom as it can") {
  std::vector<Wire> two_squares;
  for (const std::uint32_t base : {0u, 4u})
    for (std::uint32_t k = 0; k < 4; ++k) two_squares.push_back({base + k, base + (k + 1) % 4, 1});
  for (const auto& names : {by_number(8), std::vector<std::uint32_t>{5, 2, 7, 0, 1, 6, 3, 4}}) {
    const Topology topology = machine(8, two_squares, names);
    const std::vector<std::uint32_t> rings = cost_model(topology, 8).rings;
    REQUIRE(rings.size() == 8);
    REQUIRE(all_orders(rings, 8));
    int narrow = 0;
    for (const auto& [way, count] : ways(rings, 8)) narrow += topology.between(way.first, way.second).bandwidth_bytes_per_s < 20e9 ? 1 : 0;
    CHECK(narrow == 2);
  }
}

TEST_CASE("a ring through several hosts follows each one's widest ways") {
  const auto fabric = load_topology("ndv2*3");
  REQUIRE(fabric);
  const Topology topology = with_ranks(*fabric, 24);
  const std::vector<std::uint32_t> ring = cost_model(topology, 24).rings;
  REQUIRE(ring.size() == 24);
  REQUIRE(all_orders(ring, 24));
  int between_hosts = 0;
  for (const auto& [way, count] : ways(ring, 24)) {
    const bool leaves = way.first / 8 != way.second / 8;
    between_hosts += leaves ? 1 : 0;
    if (!leaves) CHECK(topology.between(way.first, way.second).bandwidth_bytes_per_s == 50e9);
  }
  CHECK(between_hosts == 3);
}

TEST_CASE("GPUs without wires have one ring, and processors none") {
  CHECK(cost_model(machine(5, {}, by_number(5)), 5).rings.size() == 5);
  CHECK(cost_model(machine(2, {{0, 1, 1}}, by_number(2)), 2).rings.empty());  // two have one way round
  const auto processors = read_synthetic("package:2 core:4 pu:1");
  REQUIRE(processors);
  CHECK(cost_model(with_ranks(*processors, 8), 8).rings.empty());
}

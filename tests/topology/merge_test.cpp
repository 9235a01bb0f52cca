#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

// One rank's view of a made-up machine called `host`: it sits on processor `cpu`.
Topology view(const std::string& host, const std::string& description, std::uint32_t cpu) {
  auto topology = read_synthetic(description);
  REQUIRE(topology);
  Topology placed = with_ranks(*topology, cpu + 1);
  placed.ranks.erase(placed.ranks.begin(), placed.ranks.end() - 1);
  placed.ranks[0].process = 1000 + cpu;
  placed.hosts[0] = host;
  placed.nodes[0].name = host;
  return placed;
}

void add_network(Topology& topology, double bandwidth) {
  const auto nic = static_cast<std::uint32_t>(topology.nodes.size());
  topology.nodes.push_back({NodeKind::nic, "eth0", 0, 0, 0, {}, {}});
  topology.nodes.push_back({NodeKind::net_switch, "network", -1, 0, 0, {}, {}});
  topology.links.push_back({nic, 0, "pci", {8e9, Provenance::read, "test"}, {100, Provenance::read, "test"}});
  topology.links.push_back(
      {nic, nic + 1, "network", {bandwidth, Provenance::read, "test"}, {2000, Provenance::read, "test"}});
}

}  // namespace

TEST_CASE("views of one machine merge into it and every rank keeps its place") {
  const auto merged =
      merge({view("a", "l3:2 core:2 pu:1", 0), view("a", "l3:2 core:2 pu:1", 3), view("a", "l3:2 core:2 pu:1", 1)});
  check_form(merged);
  const auto alone = view("a", "l3:2 core:2 pu:1", 0);
  CHECK(merged.hosts == std::vector<std::string>{"a"});
  CHECK(merged.nodes.size() == alone.nodes.size());
  CHECK(merged.links.size() == alone.links.size());
  REQUIRE(merged.ranks.size() == 3);
  CHECK(merged.ranks[1].cpus == std::vector<std::uint32_t>{3});
  CHECK(merged.ranks[1].process == 1003);
  CHECK(merged.between(0, 2).latency_ns < merged.between(0, 1).latency_ns);
  CHECK(merged.usable_cpus(0) == 3);
}

TEST_CASE("different machines stand side by side and reach one another over the network") {
  auto a = view("a", "core:2 pu:1", 1);
  auto b = view("b", "core:4 pu:1", 0);
  add_network(a, 5e9);
  add_network(b, 3e9);
  const auto merged = merge({a, b, view("b", "core:4 pu:1", 2)});
  check_form(merged);
  CHECK(merged.hosts == std::vector<std::string>{"a", "b"});
  CHECK(count(merged, NodeKind::machine) == 2);
  CHECK(count(merged, NodeKind::net_switch) == 1);
  CHECK(merged.ranks[2].host == 1);
  CHECK(merged.usable_cpus(1) == 2);
  const auto far = merged.between(0, 1);
  CHECK(far.bandwidth_bytes_per_s == 3e9);
  CHECK(far.latency_ns >= 4200);
  CHECK(far.latency_ns > merged.between(1, 2).latency_ns);
  CHECK(merged.between(1, 0).latency_ns == far.latency_ns);
}

TEST_CASE("machines without a known interface are still farther than any processor") {
  const auto merged = merge({view("a", "core:2 pu:1", 0), view("b", "core:2 pu:1", 0)});
  CHECK(merged.between(0, 1).latency_ns > 1000);
  CHECK(merged.between(0, 1).bandwidth_bytes_per_s > 0);
}

TEST_CASE("the better founded figure of two views stays") {
  auto a = view("a", "core:2 pu:1", 0);
  auto b = view("a", "core:2 pu:1", 1);
  b.links[0].latency_ns = {42, Provenance::probed, "measured"};
  const auto merged = merge({a, b});
  CHECK(merged.links[0].latency_ns.value == 42);
  CHECK(merged.links[0].latency_ns.provenance == Provenance::probed);
}

TEST_CASE("containers that see different parts of a machine merge into the whole") {
  auto a = view("a", "l3:2 core:1 pu:1", 0);
  auto b = view("a", "l3:2 core:1 pu:1", 1);
  const auto part = [](Topology& topology, std::uint32_t keep) {
    // What a cpuset leaves: nodes without processors are gone, the others keep their names.
    Topology left = topology;
    left.nodes.clear();
    left.links.clear();
    std::vector<std::int32_t> moved;
    for (auto node : topology.nodes) {
      std::erase_if(node.cpus, [&](std::uint32_t cpu) { return cpu != keep; });
      moved.push_back(node.cpus.empty() ? -1 : static_cast<std::int32_t>(left.nodes.size()));
      if (node.parent >= 0) node.parent = moved[static_cast<std::size_t>(node.parent)];
      if (!node.cpus.empty()) left.nodes.push_back(node);
    }
    topology = left;
  };
  part(a, 0);
  part(b, 1);
  const auto merged = merge({a, b});
  check_form(merged);
  CHECK(count(merged, NodeKind::machine) == 1);
  CHECK(count(merged, NodeKind::cache) == 2);
  CHECK(merged.nodes[0].cpus == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("the tightest quota of one machine's ranks counts") {
  auto a = view("a", "core:4 pu:1", 0);
  auto b = view("a", "core:4 pu:1", 1);
  a.cpu_quota = 3;
  b.cpu_quota = 1.5;
  CHECK(merge({a, b}).cpu_quota == 1.5);
}

// Made-up fabrics: what they consist of, how much crosses their middle, and that all ranks reach one another.
#include <map>

#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

Topology fabric(const std::string& description) {
  auto topology = load_topology(description);
  if (!topology) FAIL(topology.error().detail);
  return std::move(*topology);
}

/// Bytes a second in one direction over all links between endpoints below `half` (with what hangs from the same router or box) and the others.
double across(const Topology& topology, bool (*first_half)(const Node& node)) {
  double sum = 0;
  for (const Link& link : topology.links)
    if (first_half(topology.nodes[link.from]) != first_half(topology.nodes[link.to])) sum += link.bandwidth_bytes_per_s.value;
  return sum;
}

std::map<std::string, double> wires_of_gpus(const Topology& topology) {
  std::map<std::string, double> wires;
  for (const Link& link : topology.links) {
    if (link.type != "nvlink") continue;
    for (const std::uint32_t end : {link.from, link.to})
      if (topology.nodes[end].kind == NodeKind::gpu) wires[topology.nodes[end].name] += link.bandwidth_bytes_per_s.value;
  }
  return wires;
}

}  // namespace

TEST_CASE("made-up fabrics have the GPUs, interfaces and hosts that they are said to have") {
  struct Expected {
    const char* description;
    std::size_t hosts, gpus, interfaces;
  };
  const Expected all[] = {{"dgx-a100", 1, 8, 8},       {"dgx-a100*3", 3, 24, 24},     {"dgx-h100*2", 2, 16, 16}, {"dgx2*2", 2, 32, 16},
                          {"ndv2*2", 2, 16, 2},        {"pcie*2", 2, 16, 8},          {"rail*4", 4, 32, 32},     {"torus:4x3x2", 24, 24, 0},
                          {"mesh:5", 5, 5, 0},         {"hypercube:4", 16, 16, 0},    {"fat-tree:4", 16, 16, 0}, {"dragonfly:3x2x2", 12, 12, 0}};
  for (const Expected& expected : all) {
    INFO(expected.description);
    const Topology topology = fabric(expected.description);
    check_form(topology);
    CHECK(topology.hosts.size() == expected.hosts);
    CHECK(count(topology, NodeKind::gpu) == expected.gpus);
    CHECK(count(topology, NodeKind::nic) == expected.interfaces);
    const auto again = read_topology_json(write_topology_json(topology));
    REQUIRE(again);
    CHECK(write_topology_json(*again) == write_topology_json(topology));
    const auto ranks = static_cast<std::uint32_t>(expected.gpus);
    const Topology placed = with_ranks(topology, ranks);
    for (std::uint32_t a = 0; a < ranks; ++a)
      for (std::uint32_t b = 0; b < a; ++b) {
        const PathCost way = placed.between(a, b), back = placed.between(b, a);
        CHECK(way.bandwidth_bytes_per_s > 0);
        CHECK(way.latency_ns == Approx(back.latency_ns));
        CHECK(way.bandwidth_bytes_per_s == Approx(back.bandwidth_bytes_per_s));
      }
    CHECK(placed.ranks.back().host == expected.hosts - 1);
  }
}

TEST_CASE("GPUs of made-up boxes have their makers' NVLink bandwidth") {
  for (const auto& [description, bandwidth] : std::map<std::string, double>{{"dgx-a100", 300e9}, {"dgx-h100", 450e9}, {"dgx2", 150e9}, {"ndv2", 150e9}})
    for (const auto& [gpu, all] : wires_of_gpus(fabric(description))) CHECK(all == bandwidth);
  const Topology two = with_ranks(fabric("dgx-h100*2"), 16);
  CHECK(two.between(0, 7).bandwidth_bytes_per_s == 450e9);
  CHECK(two.between(0, 8).bandwidth_bytes_per_s == 50e9);  // an interface of 400 Gb/s
  const Topology mesh = with_ranks(fabric("ndv2"), 8);
  CHECK(mesh.between(0, 3).bandwidth_bytes_per_s == 50e9);
  CHECK(mesh.between(0, 1).bandwidth_bytes_per_s == 25e9);
  CHECK(mesh.between(0, 6).bandwidth_bytes_per_s == 15.75e9);  // no wire: over PCI
  const Topology rails = with_ranks(fabric("rail*2"), 16);
  CHECK(rails.between(0, 8).latency_ns < rails.between(0, 10).latency_ns);  // the same rail, and one whose interfaces hang elsewhere
}

TEST_CASE("links of made-up networks are as many as their shape has") {
  CHECK(count_links(fabric("torus:4x4x4"), "network") == 64 + 3 * 64);
  CHECK(count_links(fabric("torus:2x2"), "network") == 4 + 4);  // around a dimension of 2 leads the same way as along it
  CHECK(count_links(fabric("mesh:4x4"), "network") == 16 + 24);
  CHECK(count_links(fabric("hypercube:5"), "network") == 32 + 80);
  CHECK(count_links(fabric("fat-tree:8"), "network") == 3 * 128);  // as many at each level
  CHECK(count_links(fabric("dragonfly:5x4x2"), "network") == 40 + 5 * 6 + 10);
  const auto upper = [](const Node& node) {
    if (node.kind == NodeKind::net_switch) return std::stoi(node.name.substr(node.name.find('#') + 1)) % 4 >= 2;
    return std::stoi(node.name.substr(node.name.find('#') + 1)) % 4 >= 2;
  };
  CHECK(across(fabric("torus:4x4x4"), upper) == 2 * 16 * 50e9);
  CHECK(across(fabric("mesh:4x4x4"), upper) == 16 * 50e9);
}

TEST_CASE("a wrong fabric is refused, and says what would be accepted") {
  const std::map<std::string, std::string> wrong = {{"dgx-h100*0", "expected dgx-h100*N with whole numbers from 1 up"},
                                                    {"dgx-h100*-1", "expected dgx-h100*N"},
                                                    {"dgx-h100:4", "expected dgx-h100*N"},
                                                    {"dgx-h100*20000", "more than 131072 GPUs"},
                                                    {"torus:4x", "expected torus:AxBxC with whole numbers from 2 up"},
                                                    {"torus", "expected torus:AxBxC"},
                                                    {"torus:1000x1000x1000", "more than 131072 GPUs"},
                                                    {"torus:99999999999999999999", "expected torus:AxBxC"},
                                                    {"hypercube:64", "more than 131072 GPUs"},
                                                    {"fat-tree:7", "expected an even number of ports"},
                                                    {"dragonfly:3x2", "expected dragonfly:GROUPSxROUTERSxENDPOINTS"},
                                                    {"dgx-b200*2", "or a fabric: dgx-a100*N, dgx-h100*N, dgx2*N"}};
  for (const auto& [description, expected] : wrong) {
    const auto topology = load_topology(description);
    REQUIRE_FALSE(topology);
    INFO(topology.error().detail << " should hold " << expected);
    CHECK(topology.error().code == Errc::invalid_argument);
    CHECK(topology.error().detail.find(expected) != std::string::npos);
  }
}

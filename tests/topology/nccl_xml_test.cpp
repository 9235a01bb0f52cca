#include <map>

#include "topology/samples.hpp"
#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const Link* link_between(const Topology& topology, const std::string& a, const std::string& b) {
  for (const Link& link : topology.links) {
    const std::string& from = topology.nodes[link.from].name;
    const std::string& to = topology.nodes[link.to].name;
    if ((from == a && to == b) || (from == b && to == a)) return &link;
  }
  return nullptr;
}

double gigabytes(const Topology& topology, const std::string& a, const std::string& b) {
  const Link* const link = link_between(topology, a, b);
  return link == nullptr ? 0 : link->bandwidth_bytes_per_s.value / 1e9;
}

}  // namespace

TEST_CASE("a topology of NCCL's has its processors, devices and wires") {
  const auto topology = read_nccl_xml(nccl);
  REQUIRE(topology);
  check_form(*topology);
  CHECK(topology->hosts.size() == 1);
  CHECK(count(*topology, NodeKind::numa) == 2);
  CHECK(count(*topology, NodeKind::gpu) == 3);
  CHECK(count(*topology, NodeKind::nic) == 3);
  CHECK(count(*topology, NodeKind::pci_bridge) == 1);
  CHECK(topology->nodes[0].cpus == std::vector<std::uint32_t>{0, 1, 2, 3, 32, 33, 34});
  CHECK(gigabytes(*topology, "gpu#0", "gpu#1") == Approx(2 * 20.6));
  CHECK(gigabytes(*topology, "gpu#0", "nvswitch#0") == Approx(6 * 20.6));  // its wires to two switches, which are one
  CHECK(gigabytes(*topology, "gpu#1", "nvswitch#0") == Approx(6 * 20.6));
  CHECK(gigabytes(*topology, "gpu#2", "numa#1") > 0);
  CHECK(count_links(*topology, "nvlink") == 4);
  CHECK(gigabytes(*topology, "gpu#0", "bridge 0000:10:00.0") == Approx(16 * 2 * 128.0 / 130));
  CHECK(gigabytes(*topology, "mlx5_0", "network") == Approx(25));
  CHECK(gigabytes(*topology, "mlx5_1", "network") == Approx(12.5));
  CHECK(gigabytes(*topology, "eth0", "network") == Approx(1.25));
  CHECK(gigabytes(*topology, "numa#0", "machine") == Approx(22));
  CHECK(link_between(*topology, "mlx5_0", "network")->bandwidth_bytes_per_s.provenance == Provenance::read);
  CHECK(link_between(*topology, "gpu#0", "gpu#1")->bandwidth_bytes_per_s.provenance == Provenance::assumed);
}

TEST_CASE("attributes whose names begin alike aren't taken for one another") {
  const auto topology = read_nccl_xml(replaced(nccl, "link_speed=", "link_speeding=\"7\" link_spe=\"5\" link_speed="));
  const auto plain = read_nccl_xml(nccl);
  REQUIRE(topology);
  REQUIRE(plain);
  CHECK(gigabytes(*topology, "gpu#0", "bridge 0000:10:00.0") == gigabytes(*plain, "gpu#0", "bridge 0000:10:00.0"));
  REQUIRE(topology->links.size() == plain->links.size());
  for (std::size_t k = 0; k < plain->links.size(); ++k) CHECK(topology->links[k].bandwidth_bytes_per_s.value == plain->links[k].bandwidth_bytes_per_s.value);
}

TEST_CASE("ranks of a topology without processors' nodes are its GPUs, and talk along their wires") {
  const auto topology = read_nccl_xml(nccl);
  REQUIRE(topology);
  const Topology placed = with_ranks(*topology, 4);
  const auto name = [&](std::uint32_t rank) { return placed.nodes[static_cast<std::size_t>(placed.ranks[rank].node)].name; };
  CHECK(name(0) == "gpu#0");
  CHECK(name(2) == "gpu#2");
  CHECK(name(3) == "gpu#0");
  CHECK(placed.between(0, 1).bandwidth_bytes_per_s == Approx(6 * 20.6e9));  // through the switch, which is wider than the wire
  CHECK(placed.between(0, 2).bandwidth_bytes_per_s == Approx(20e9));  // up to the processors, 22 between them, and down the wire
  CHECK(placed.between(2, 0).bandwidth_bytes_per_s == Approx(20e9));
  CHECK(placed.between(0, 2).latency_ns > placed.between(0, 1).latency_ns / 2);
}

TEST_CASE("a way between GPUs doesn't lead through a third one") {
  const std::string chain = R"(<system version="1"><cpu numaid="0" affinity="f">
    <pci busid="a" class="0x030200" link_speed="2.5 GT/s" link_width="1"><gpu dev="0" sm="80"><nvlink target="b" count="4"/></gpu></pci>
    <pci busid="b" class="0x030200" link_speed="2.5 GT/s" link_width="1"><gpu dev="1" sm="80"><nvlink target="c" count="4"/></gpu></pci>
    <pci busid="c" class="0x030200" link_speed="2.5 GT/s" link_width="1"><gpu dev="2" sm="80"/></pci>
  </cpu></system>)";
  const auto topology = read_nccl_xml(chain);
  REQUIRE(topology);
  const Topology placed = with_ranks(*topology, 3);
  CHECK(placed.between(0, 1).bandwidth_bytes_per_s == Approx(80e9));
  CHECK(placed.between(1, 2).bandwidth_bytes_per_s == Approx(80e9));
  CHECK(placed.between(0, 2).bandwidth_bytes_per_s == Approx(0.25e9));
}

TEST_CASE("GPUs in one module with their processors reach each other along the wires between the two") {
  const auto module = [](const std::string& number, const std::string& inside) {
    return "<cpu numaid=\"" + number + "\" affinity=\"f\"><pci busid=\"000" + number +
           ":01:00.0\" class=\"0x030200\" link_speed=\"2.5 GT/s\" link_width=\"1\"><gpu dev=\"" + number + "\" sm=\"90\">" + inside + "</gpu></pci></cpu>";
  };
  const std::string wires = R"(<c2c bw="44712" count="10"/>)";
  const std::string two = "<system version=\"1\">" + module("0", wires) + module("1", wires) + "</system>";
  const auto topology = read_nccl_xml(two);
  REQUIRE(topology);
  check_form(*topology);
  CHECK(count_links(*topology, "c2c") == 2);
  const Link* wire = nullptr;
  for (const Link& link : topology->links)
    if (link.type == "c2c" && topology->nodes[link.from].name == "gpu#1") wire = &link;
  REQUIRE(wire != nullptr);
  CHECK(topology->nodes[wire->to].name == "numa#1");
  CHECK(wire->bandwidth_bytes_per_s.value == Approx(447.12e9));
  CHECK(wire->bandwidth_bytes_per_s.provenance == Provenance::read);
  CHECK(with_ranks(*topology, 2).between(0, 1).bandwidth_bytes_per_s == Approx(6e9));  // what lies between the processors; PCI alone would give 0.25
  const auto wrong = read_nccl_xml(replaced(two, "bw=\"44712\"", "bw=\"fast\""));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().detail.find("cpu 0, pci 0000:01:00.0, gpu 0, c2c: attribute bw=\"fast\": expected a number") != std::string::npos);
}

TEST_CASE("a topology of NCCL's that is wrong is refused with its place and what was expected") {
  std::string seventy;
  for (int k = 0; k < 70; ++k) seventy += " a" + std::to_string(k) + "=\"0\"";
  const std::map<std::string, std::string> wrong = {
      {replaced(nccl, "</system>", ""), "not well-formed XML at line"},
      {replaced(nccl, "version=\"2\"", "version=\"3\""), "system: attribute version=\"3\": expected a number from 1 to 2"},
      {replaced(nccl, "00000001,0000000f", "00000001,,0f"), "cpu 0: attribute affinity=\"00000001,,0f\": expected words of 32 bits in hexadecimal"},
      {replaced(nccl, "numaid=\"1\"", "numa=\"1\""), "attribute numaid is missing"},
      {replaced(nccl, "busid=\"0000:12:00.0\"", "busid=\"0000:11:00.0\""), "busid '0000:11:00.0' stands there twice"},
      {replaced(nccl, "count=\"2\"", "count=\"-2\""), "cpu 0, pci 0000:10:00.0, pci 0000:11:00.0, gpu 0, nvlink 0000:12:00.0: attribute count=\"-2\""},
      {replaced(nccl, "speed=\"200000\"", "speed=\"fast\""), "net mlx5_0: attribute speed=\"fast\": expected a number"},
      {replaced(nccl, "numaid=\"1\"", "numaid=\"1\" affinity=\"f\" numaid=\"1\""), "attribute numaid stands there twice; expected once"},
      {replaced(nccl, "link_speed=", "link_speed=\"1\" link_speed="), "attribute link_speed stands there twice; expected once"},
      {replaced(nccl, "version=\"2\"", "version=\"2\"" + seventy), "system: more than 64 attributes; fewer are expected"},
      {"<system version=\"1\"></system>", "expected a <cpu> in it"},
      {"<topology/>", "expected the root element <system>, found <topology>"},
  };
  for (const auto& [text, expected] : wrong) {
    const auto topology = read_nccl_xml(text);
    REQUIRE_FALSE(topology);
    INFO(topology.error().detail << "\n should hold \n" << expected);
    CHECK(topology.error().code == Errc::invalid_argument);
    CHECK(topology.error().detail.find(expected) != std::string::npos);
  }
  std::string deep = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int k = 0; k < 100'000; ++k) deep += "<pci busid=\"" + std::to_string(k) + "\">";
  for (int k = 0; k < 100'000; ++k) deep += "</pci>";
  const auto topology = read_nccl_xml(deep + "</cpu></system>");
  REQUIRE_FALSE(topology);
  CHECK(topology.error().detail.size() < 4096);
}

TEST_CASE("files of machines are read as their makers published them") {
  struct Expected {
    const char* file;
    std::size_t numa, gpus, nics, wires;
    double widest;  // bytes/s between ranks 0 and 1
  };
  const Expected files[] = {{"ndv2-topo.xml", 2, 8, 1, 0, 10e9},         {"ndv4-topo.xml", 4, 8, 8, 0, 16e9},
                            {"p4d-24xl-topo.xml", 2, 8, 4, 0, 15.8e9},   {"topo_8p_90a.xml", 1, 8, 1, 12, 36e9},
                            {"topo_8p_940vm.xml", 2, 8, 8, 28, 48e9},    {"topo_8p_rome.xml", 2, 8, 1, 8, 24e9}};
  for (const Expected& expected : files) {
    INFO(expected.file);
    const std::string text = corpus(expected.file, "nccl-topo");
    if (text.empty()) continue;
    const auto topology = read_nccl_xml(text);
    if (!topology) FAIL(topology.error().detail);
    check_form(*topology);
    CHECK(count(*topology, NodeKind::numa) == expected.numa);
    CHECK(count(*topology, NodeKind::gpu) == expected.gpus);
    CHECK(count(*topology, NodeKind::nic) == expected.nics);
    CHECK(count_links(*topology, "xgmi") + count_links(*topology, "nvlink") == expected.wires);
    const auto again = read_topology_json(write_topology_json(*topology));
    REQUIRE(again);
    CHECK(write_topology_json(*again) == write_topology_json(*topology));
    const Topology placed = with_ranks(*topology, 8);
    double widest = 0;
    for (std::uint32_t a = 0; a < 8; ++a)
      for (std::uint32_t b = 0; b < a; ++b) {
        CHECK(placed.between(a, b).bandwidth_bytes_per_s > 0);
        widest = std::max(widest, placed.between(a, b).bandwidth_bytes_per_s);
      }
    CHECK(widest >= 0.99 * expected.widest);
  }
}

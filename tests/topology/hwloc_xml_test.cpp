#include <cstdio>

#include "topology/hwloc_objects.hpp"
#include "topology/samples.hpp"
#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

const Node& node_named(const Topology& topology, const std::string& name) {
  for (const auto& node : topology.nodes)
    if (node.name == name) return node;
  FAIL("no node is called " << name);
  return topology.nodes.front();
}

const Link& link_typed(const Topology& topology, std::string_view type) {
  for (const auto& link : topology.links)
    if (link.type == type) return link;
  FAIL("no link is of type " << type);
  return topology.links.front();
}

}  // namespace

TEST_CASE("the format of hwloc 1 is read") {
  const auto topology = read_hwloc_xml(old_format);
  REQUIRE(topology);
  check_form(*topology);
  CHECK(topology->nodes[0].name == "old");
  CHECK(count(*topology, NodeKind::package) == 2);
  CHECK(count(*topology, NodeKind::numa) == 2);
  CHECK(count(*topology, NodeKind::cpu) == 4);
  CHECK(node_named(*topology, "L2#0").bytes == 4096);
  CHECK(link_typed(*topology, "numa").latency_ns.value == 150);
}

TEST_CASE("a version that is no number of a format is taken for the nearest") {
  for (const std::string version : {"1e20", "nan", "-inf", "two"}) {
    INFO(version);
    std::string file = old_format;
    file.replace(file.find("<topology>"), 10, "<topology version=\"" + version + "\">");
    CHECK(read_hwloc_xml(file));
  }
}

TEST_CASE("devices are told apart") {
  const auto topology = read_hwloc_xml(devices);
  REQUIRE(topology);
  check_form(*topology);
  CHECK(count(*topology, NodeKind::gpu) == 2);
  CHECK(count(*topology, NodeKind::nic) == 1);
  CHECK(node_named(*topology, "ib0").detail == "mlx5_0, 0000:03:00.0");
  CHECK(node_named(*topology, "card0").kind == NodeKind::other);
  CHECK(node_named(*topology, "nvme0n1").kind == NodeKind::other);
}

TEST_CASE("processors that are not allowed are left out and the others keep their names") {
  const auto topology = read_hwloc_xml(devices);
  REQUIRE(topology);
  CHECK(topology->nodes[0].cpus == std::vector<std::uint32_t>{0});
  CHECK(count(*topology, NodeKind::core) == 1);
  std::string other = devices;
  other.replace(other.find("allowed_cpuset=\"0x1\""), 20, "allowed_cpuset=\"0x2\"");
  const auto rest = read_hwloc_xml(other);
  REQUIRE(rest);
  CHECK(node_named(*rest, "core#1").cpus == std::vector<std::uint32_t>{1});
}

TEST_CASE("figures that a file holds are marked as read") {
  const auto topology = read_hwloc_xml(devices);
  REQUIRE(topology);
  const auto& nvlink = link_typed(*topology, "nvlink");
  CHECK(nvlink.bandwidth_bytes_per_s.value == 50e9);
  CHECK(nvlink.bandwidth_bytes_per_s.provenance == Provenance::read);
  CHECK(nvlink.bandwidth_bytes_per_s.source.find("NVLinkBandwidth") != std::string::npos);
  CHECK(topology->nodes[nvlink.from].kind == NodeKind::gpu);
  const auto& memory = link_typed(*topology, "memory");
  bool read_memory = false;
  for (const auto& link : topology->links)
    read_memory = read_memory || (link.type == "memory" && link.bandwidth_bytes_per_s.value == 100000.0 * 1024 * 1024 &&
                                  link.bandwidth_bytes_per_s.provenance == Provenance::read);
  CHECK(read_memory);
  CHECK(memory.latency_ns.provenance == Provenance::assumed);
  for (const auto& link : topology->links) {
    if (topology->nodes[link.from].name == "gpu#0" && link.type == "pci") {
      CHECK(link.bandwidth_bytes_per_s.value == 31.5e9);
      CHECK(link.bandwidth_bytes_per_s.provenance == Provenance::read);
    }
    if (topology->nodes[link.from].name == "gpu#1" && link.type == "pci")
      CHECK(link.bandwidth_bytes_per_s.provenance == Provenance::assumed);
  }
}

TEST_CASE("the corpora's machines are read as they are") {
  struct Expected {
    const char* file;
    std::size_t packages, memories, cpus, gpus, nics, nvlinks;
  };
  for (const auto& expected :
       {Expected{"16amd64-8n2c-cpusets.xml", 6, 5, 10, 0, 0, 0},
        Expected{"96em64t-4n4d3ca2co-pci.xml", 16, 4, 96, 0, 8, 0}, Expected{"nvidiaDGX2.xml", 2, 2, 4, 16, 0, 96},
        Expected{"power8gpudistances.xml", 2, 2, 16, 4, 0, 6}}) {
    const auto text = corpus(expected.file);
    if (text.empty()) {
      std::puts("rondo-skip: corpora");  // see tests/allowed-skips.txt
      continue;
    }
    INFO(expected.file);
    const auto topology = read_hwloc_xml(text);
    REQUIRE(topology);
    check_form(*topology);
    CHECK(count(*topology, NodeKind::package) == expected.packages);
    CHECK(count(*topology, NodeKind::numa) == expected.memories);
    CHECK(count(*topology, NodeKind::cpu) == expected.cpus);
    CHECK(count(*topology, NodeKind::gpu) == expected.gpus);
    CHECK(count(*topology, NodeKind::nic) == expected.nics);
    CHECK(count_links(*topology, "nvlink") == expected.nvlinks);
  }
}

TEST_CASE("a file that ends early is refused wherever it ends") {
  for (std::size_t length = 0; length < devices.size(); length += 7) {
    const auto topology = read_hwloc_xml(std::string_view(devices).substr(0, length));
    REQUIRE(!topology);
    CHECK(topology.error().detail.find("not an hwloc XML file") == 0);
    CHECK(topology.error().detail.find('\n') == std::string::npos);
  }
}

TEST_CASE("the line at which a file breaks is named") {
  const auto topology = read_hwloc_xml("<topology>\n<object type=\"Machine\">\n</wrong>\n</topology>");
  REQUIRE(!topology);
  CHECK(topology.error().detail.find("line 3") != std::string::npos);
}

TEST_CASE("well-formed XML of another kind is refused with the reason") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"<system version='1'/>", "its root is <system>"},
      {"<topology/>", "holds no <object>"},
      {"<topology><object type='PU' os_index='0'/></topology>", "outermost object is a PU"},
      {"<topology><object type='Machine'/></topology>", "no processor"},
      {"<topology><object type='Machine'><object/></object></topology>", "no type"},
      {"<topology><object type='Machine' allowed_cpuset='zz'><object type='PU' os_index='0'/></object></topology>",
       "allowed_cpuset"}};
  for (const auto& [text, part] : wrong) {
    INFO(text);
    const auto topology = read_hwloc_xml(text);
    REQUIRE(!topology);
    CHECK(topology.error().detail.find(part) != std::string::npos);
  }
}

TEST_CASE("objects nested without end are refused") {
  std::string text = "<topology><object type='Machine'>";
  for (int i = 0; i < 100000; ++i) text += "<object type='Group'>";
  text += "<object type='PU' os_index='0'/>";
  for (int i = 0; i < 100000; ++i) text += "</object>";
  const auto topology = read_hwloc_xml(text + "</object></topology>");
  REQUIRE(!topology);
  CHECK(topology.error().detail.find("nested") != std::string::npos);
}

TEST_CASE("damaged files are read or refused, never worse") {
  // Every single attribute value in turn becomes nonsense.
  std::size_t read = 0;
  for (const auto* nonsense : {"", "-1", "99999999999999999999", "0xf...f", "nan"})
    for (std::size_t quote = devices.find("=\""); quote != std::string::npos; quote = devices.find("=\"", quote + 2)) {
      std::string text = devices;
      text.replace(quote + 2, text.find('"', quote + 2) - quote - 2, nonsense);
      const auto topology = read_hwloc_xml(text);
      if (!topology) continue;
      ++read;
      check_form(*topology);
      CHECK(!print_topology(*topology).empty());
      CHECK(read_topology_json(write_topology_json(*topology)));
    }
  CHECK(read > 0);
}

TEST_CASE("cpusets are read in all of hwloc's forms") {
  CHECK(*hwloc::parse_cpuset("0x00000005", 64) == std::vector<std::uint32_t>{0, 2});
  CHECK(*hwloc::parse_cpuset("0x1,0x0", 64) == std::vector<std::uint32_t>{32});
  CHECK(*hwloc::parse_cpuset("0x1,,0x2", 128) == std::vector<std::uint32_t>{1, 64});
  CHECK(*hwloc::parse_cpuset("0xf...f", 3) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(hwloc::parse_cpuset("0xf...f,0x0", 34)->size() == 2);
  CHECK(hwloc::parse_cpuset("0x0", 64)->empty());
  CHECK(!hwloc::parse_cpuset("hello", 64));
}
